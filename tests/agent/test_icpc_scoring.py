"""Legacy scoring problems: what the folders say of their results, and what a submission gets by it."""

import itertools

import pytest

from runners.agent.blob import Blob, holding
from runners.agent.cache import Cache
from runners.agent.details import details
from runners.agent.errors import InfrastructureFailure
from runners.agent.icpc.folders import Folder, OutOfRange, Round, final
from runners.agent.icpc.grading import DEFAULT, Grade, read_grading
from runners.agent.icpc.judge import Judge
from runners.agent.icpc.package import read_package
from runners.agent.judgement import Judged, Submission
from runners.agent.jury import Bench
from runners.agent.reading import Reading
from runners.agent.verdicts import Verdict
from tests.agent.conftest import never
from tests.agent.icpc import scoring, written

AC, WA, TLE, RTE = Verdict.ACCEPTED, Verdict.WRONG_ANSWER, Verdict.TIME_LIMIT, Verdict.RUNTIME_ERROR
SUBTASKS = {
    "data/testdata.yaml": "on_reject: continue\ngrader_flags: ignore_sample\nrange: 0 100\n",
    "data/sample/testdata.yaml": "accept_score: 0\nrange: 0 0\n",
    "data/secret/testdata.yaml": "on_reject: continue\ngrader_flags: always_accept sum\nrange: 0 100\n",
    "data/secret/1.in": None,
    "data/secret/1.ans": None,
    "data/secret/2.in": None,
    "data/secret/2.ans": None,
    "data/secret/g1/testdata.yaml": "on_reject: break\ngrader_flags: min\naccept_score: 30\nrange: 0 30\n",
    "data/secret/g1/a.in": "1 1\n",
    "data/secret/g1/a.ans": "2\n",
    "data/secret/g1/b.in": "2 2\n",
    "data/secret/g1/b.ans": "4\n",
    "data/secret/g2/testdata.yaml": "on_reject: break\ngrader_flags: min\naccept_score: 70\nrange: 0 70\n",
    "data/secret/g2/a.in": "100 1\n",
    "data/secret/g2/a.ans": "101\n",
    "data/secret/g2/b.in": "200 1\n",
    "data/secret/g2/b.ans": "201\n",
}
"""As such contests do it: each group all or nothing, the groups added up."""

READ = "a, b = map(int, input().split())\n"


def package(files, yaml="type: scoring\n"):
    return {name: text for name, text in scoring(files, yaml).items() if text is not None}


@pytest.fixture
def judge(box, toolchains, tmp_path):
    """`judge(files, source)`: what a Python program gets."""
    bench = Bench(box, toolchains, Cache(tmp_path / "cache").open())

    def judged(files, source, config=None):
        read = read_package(written(tmp_path / "package", files))
        blob = Blob.of(source.encode())
        with holding(blob):
            return Judge(box, toolchains, bench, never).judge(read, config or {}, Submission(blob, "a.py", "python3"))

    return judged


def grading(**members):
    reading = Reading()
    made = read_grading(members, "testdata.yaml", DEFAULT, reading)
    assert not reading.faults
    return made


@pytest.mark.parametrize(
    ("flags", "results", "graded"),
    [
        ("", [(AC, 1), (AC, 2)], (AC, 3)),
        ("", [(WA, 1), (RTE, 2)], (RTE, 3)),
        ("", [(WA, 1), (TLE, 2)], (TLE, 3)),
        ("no_errors", [(AC, 1), (WA, 2)], (WA, 3)),
        ("first_error", [(AC, 1), (WA, 2), (RTE, 0)], (WA, 3)),
        ("first_error worst_error", [(WA, 2), (RTE, 0)], (RTE, 2)),
        ("always_accept", [(WA, 2), (RTE, 0)], (AC, 2)),
        ("accept_if_any_accepted", [(WA, 2), (AC, 5)], (AC, 7)),
        ("accept_if_any_accepted", [(WA, 2), (TLE, 5)], (TLE, 7)),
        ("avg", [(AC, 1), (AC, 2)], (AC, 1.5)),
        ("min", [(AC, 1), (AC, 2)], (AC, 1)),
        ("max", [(AC, 1), (AC, 2)], (AC, 2)),
        ("min max sum avg", [(AC, 1), (AC, 2)], (AC, 1.5)),
        ("", [], (AC, 0)),
    ],
)
def test_the_default_grader(flags, results, graded):
    folder = Folder("secret", grading(grader_flags=flags))

    grade = folder.graded([Grade(*result) for result in results])

    assert (grade.verdict, grade.score) == graded


def test_the_sample_is_ignored_at_the_root_and_nowhere_else():
    said = grading(grader_flags="ignore_sample", on_reject="continue")
    results = [Grade(WA, 7), Grade(AC, 2)]

    assert Folder("", said).graded(results) == Grade(AC, 2)
    assert Folder("secret", said).graded(results) == Grade(WA, 9)


def test_a_score_outside_of_the_folders_range_is_a_fault():
    folder = Folder("secret/g", grading(range="0 5"))

    assert folder.graded([Grade(AC, 5)]).score == 5
    assert folder.graded([Grade(WA, 6)]).verdict is WA
    with pytest.raises(OutOfRange, match="data/secret/g got 6 points"):
        folder.graded([Grade(AC, 6)])


def test_the_most_there_is_follows_from_the_folders(tmp_path):
    root = read_package(written(tmp_path, package(SUBTASKS))).root_folder

    assert root.bounds(by_validator=False) == (0, 100)


def test_of_validators_that_give_points_only_a_range_tells_the_most(tmp_path):
    bound = read_package(written(tmp_path / "a", package(SUBTASKS))).root_folder
    files = {name: text for name, text in SUBTASKS.items() if not name.endswith("testdata.yaml")}
    unbound = read_package(written(tmp_path / "b", package(files))).root_folder

    assert bound.bounds(by_validator=True)[1] == 100
    assert unbound.bounds(by_validator=True)[1] == float("inf")


@pytest.mark.parametrize(
    ("grade", "most", "said"),
    [
        (Grade(AC, 100), 100, (AC, 100)),
        (Grade(AC, 40), 100, (Verdict.PARTIAL, 40)),
        (Grade(AC, 0), 100, (WA, 0)),
        (Grade(TLE, 40), 100, (TLE, 0)),
        (Grade(AC, 40), float("inf"), (Verdict.PARTIAL, 40)),
    ],
)
def test_the_word_for_the_whole(tmp_path, grade, most, said):
    case = read_package(written(tmp_path, package({}))).cases[0]

    assert final(grade, most, [Judged(case, WA)]) == said


@pytest.mark.parametrize("wrong", [*itertools.product([False, True], repeat=4)])
def test_every_way_to_fail_is_graded_as_the_format_says(tmp_path, wrong):
    """Against the rule written down once more, by hand: a group is won whole or lost."""
    root = read_package(written(tmp_path, package(SUBTASKS))).root_folder
    names = ["secret/g1/a", "secret/g1/b", "secret/g2/a", "secret/g2/b"]
    failing = {name for name, fails in zip(names, wrong, strict=True) if fails}
    played = []

    def play(case, over):
        played.append((case.name, over))
        return Judged(case, None if over else WA if case.name in failing else AC)

    turn = Round(play, by_validator=False)
    grade = turn.of(root)

    won = (0 if failing & set(names[:2]) else 30) + (0 if failing & set(names[2:]) else 70)
    assert grade == Grade(AC, won)
    assert ("secret/g1/b", wrong[0]) in played
    assert ("secret/g2/b", wrong[2]) in played
    assert ("secret/g2/a", False) in played


def test_a_folder_without_settings_has_those_of_the_folder_above(tmp_path):
    files = {"data/testdata.yaml": "accept_score: 5\n", "data/secret/deep/down/x.in": "1 1\n", "data/secret/deep/down/x.ans": "2\n"}
    root = read_package(written(tmp_path, package(files))).root_folder

    assert root.bounds(by_validator=False)[1] == 5 * 4


def test_what_problem_yaml_said_before_there_were_folders_settings_still_counts(tmp_path):
    yaml = "type: scoring\ngrading: {accept_score: 4, on_reject: grade}\n"
    root = read_package(written(tmp_path, package({}, yaml))).root_folder

    assert root.bounds(by_validator=False)[1] == 12
    assert not root.grading.breaks


def test_folders_keep_the_order_of_the_tests(tmp_path):
    read = read_package(written(tmp_path, package(SUBTASKS)))
    turn = Round(lambda case, _: Judged(case, AC), by_validator=False)

    turn.of(read.root_folder)

    assert [one.test.number for one in turn.tests] == list(range(1, 6))
    assert [score.group.group for score in turn.groups] == ["sample", "secret/g1", "secret/g2"]


@pytest.mark.parametrize(
    ("source", "verdict", "score", "statuses"),
    [
        (READ + "print(a + b)", "Accepted", 100, ["Accepted"] * 5),
        (READ + "print(a + b if a < 100 else 0)", "Partial", 30, ["Accepted"] * 3 + ["Wrong answer", "Skipped"]),
        (READ + "print(a + b if a > 1 else 0)", "Partial", 70, ["Wrong answer", "Wrong answer", "Skipped", "Accepted", "Accepted"]),
        ("print(0)", "Wrong answer", 0, ["Wrong answer", "Wrong answer", "Skipped", "Wrong answer", "Skipped"]),
        ("print(", "Compilation error", 0, []),
    ],
)
def test_a_submission_gets_the_points_of_the_groups_it_wins(judge, source, verdict, score, statuses):
    judgement = judge(package(SUBTASKS), source)

    assert (judgement.verdict, judgement.score) == (verdict, score)
    assert [one.status for one in judgement.tests] == statuses
    if statuses:
        assert judgement.max_score == 100
        assert {one["group"]: one["maxScore"] for one in details(judgement)["groups"]} == {"sample": 0, "secret/g1": 30, "secret/g2": 70}


def test_told_to_run_all_tests_the_points_are_the_same(judge):
    source = READ + "print(a + b if a not in (1, 200) else 0)"
    short, whole = (judge(package(SUBTASKS), source, config) for config in ({}, {"allTests": True}))

    assert (short.score, whole.score) == (0, 0)
    assert [one.status for one in whole.tests].count("Skipped") == 0


SCORER = """import sys
said = int(sys.stdin.read())
open(sys.argv[3] + 'score.txt', 'w').write({points})
sys.exit(42)
"""


def by_validator(points, **files):
    files = {"output_validators/v.py": SCORER.format(points=points), "data/testdata.yaml": "grader_flags: sum\nrange: 0 100\n"} | files
    return package(files, "type: scoring\nvalidation: custom score\n")


def test_a_validators_points_count_instead(judge):
    judgement = judge(by_validator("str(said / 2)"), "print(7)")

    assert (judgement.verdict, judgement.score, judgement.max_score) == ("Partial", 10.5, 100)


def test_without_a_score_from_the_validator_the_folders_counts(judge):
    files = by_validator("''")
    files["output_validators/v.py"] = "import sys\nsys.exit(42)\n"

    assert judge(files, "print(7)").score == 3


@pytest.mark.parametrize(
    ("points", "said"),
    [("'much'", "no number"), ("'nan'", "no number"), ("'inf'", "no number"), ("''", "no number"), ("'101'", "outside of its range")],
)
def test_points_that_are_none_are_the_jurys_fault(judge, points, said):
    with pytest.raises(InfrastructureFailure, match=said):
        judge(by_validator(points), "print(7)")


def test_without_any_bound_there_is_no_most_to_report(judge):
    files = by_validator("'4'")
    del files["data/testdata.yaml"]

    judgement = judge(files, "print(7)")

    assert (judgement.verdict, judgement.score) == ("Accepted", 12)
    assert details(judgement)["maxScore"] is None
