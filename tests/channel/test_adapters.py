"""How output becomes a verdict (channel-protocol §5 and §7)."""

import json

import pytest

from judging.channel.adapters import Unreadable, Verdict, verdict_of
from judging.channel.frames import Iteration, document
from judging.rules import Limits


def judged(*iterations, adapter="json"):
    return verdict_of(document(list(iterations)), adapter=adapter, limits=Limits())


def said(verdict, **more):
    return json.dumps({"verdict": verdict, **more})


def test_a_verdict_carries_scores_and_documents():
    found = judged(Iteration(0, said("Partial", score=40, maxScore=100.0, extra={"a": 1}, props={"timeMs": 12})))

    assert found == Verdict("Partial", 40.0, 100.0, '{"a":1}', '{"timeMs":12}')


def test_files_come_by_path_before_stdout():
    files = {"b.json": said("from b"), "a.json": said("from a"), "a.txt": "no JSON"}

    assert judged(Iteration(0, said("from stdout"), None, files)).verdict == "from a"


def test_an_object_without_a_verdict_is_passed_over():
    files = {"a.json": '{"verdict": null}', "b.json": '{"score": 1}', "c.json": "[]", "d.json": "{"}

    assert judged(Iteration(0, said("from stdout"), None, files)).verdict == "from stdout"


def test_a_verdict_is_found_however_its_name_is_written():
    assert judged(Iteration(0, r'{"\u0076erdict": "Accepted"}')).verdict == "Accepted"


def test_the_last_line_of_stdout_will_do():
    assert judged(Iteration(0, f"compiling\nrunning\n{said('Accepted')}\n")).verdict == "Accepted"


def test_a_later_iteration_is_asked_when_the_first_says_nothing():
    assert judged(Iteration(0, "nothing"), Iteration(0, said("Accepted"))).verdict == "Accepted"


def test_nothing_found_is_said():
    with pytest.raises(Unreadable, match="no JSON object with a verdict"):
        judged(Iteration(0, "nothing"), Iteration(1))


@pytest.mark.parametrize(
    "bad",
    [
        '{"verdict": 5}',
        '{"verdict": "Accepted", "score": "many"}',
        '{"verdict": "Accepted", "score": 1e999}',
        '{"verdict": "A", "extra": []}',
    ],
)
def test_the_first_verdict_counts_even_when_it_breaks_the_rules_of_a_report(bad):
    with pytest.raises(Unreadable):
        judged(Iteration(0, bad), Iteration(0, said("Accepted")))


def test_exit_codes_decide_when_they_are_asked():
    assert judged(Iteration(0), Iteration(0), adapter="exit-code") == Verdict("Accepted")
    assert judged(Iteration(0), Iteration(3), adapter="exit-code") == Verdict("Runtime error")
    with pytest.raises(Unreadable, match="no iteration"):
        judged(adapter="exit-code")


def test_a_document_that_is_none_is_said():
    with pytest.raises(Unreadable):
        verdict_of(b"{", adapter="json", limits=Limits())
