"""What a submit promises: queue.md §4 (submit) and I4, I6."""

import pytest

from judging import queue
from judging.errors import KeyReused, NotFound, SubmissionBusy
from judging.models import Job, Submission, SubmissionFile, Thread
from judging.queue import SourceFile
from runners.keys import new_id
from tests.queue.conftest import claimed, report


def test_a_retry_under_the_same_key_gets_the_first_receipt(hall):
    first = hall.submit(key="k", scope="participant:1")
    again = hall.submit(key="k", scope="participant:1")

    assert (again.submission, again.job, again.existing) == (first.submission, first.job, True)
    assert Job.objects.count() == 1


def test_a_retry_after_it_was_judged_gets_the_old_receipt(hall, box_1):
    first = hall.submit(key="k")
    report(claimed(box_1))

    assert hall.submit(key="k").job == first.job


@pytest.mark.parametrize(
    "changed",
    [
        {"props": '{"language":"c"}'},
        {"files": (SourceFile("source", "b.py", new_id(), "00" * 32),)},
        {"urgent": True},
        {"only_if_idle": True},
        {"thread_key": "contestant:1"},
    ],
)
def test_another_content_under_a_used_key_is_refused_and_leaves_nothing(hall, changed):
    hall.submit(key="k")

    with pytest.raises(KeyReused):
        hall.submit(key="k", **changed)
    assert (Job.objects.count(), Submission.objects.count(), Thread.objects.count()) == (1, 1, 1)
    assert not SubmissionFile.objects.exists()


@pytest.mark.parametrize("other", [{"scope": "participant:2"}, {"organization": new_id()}])
def test_the_same_key_elsewhere_is_another_key(hall, other):
    first = hall.submit(key="k", scope="participant:1")

    assert hall.submit(**{"key": "k", "scope": "participant:1"} | other).job != first.job


def test_only_if_idle_is_refused_while_anything_of_the_thread_is_open(hall, box_1):
    hall.submit(thread_key="contestant:1")
    with pytest.raises(SubmissionBusy):
        hall.submit(thread_key="contestant:1", only_if_idle=True)
    report(claimed(box_1))

    assert hall.submit(thread_key="contestant:1", only_if_idle=True)


def test_a_coarse_thread_is_judged_in_order_one_at_a_time(hall, box_1, box_2):
    tries = [hall.submit(thread_key="contestant:1") for _ in range(3)]
    first = claimed(box_1)

    assert first.row.id == tries[0].job
    assert queue.claim(box_2) is queue.Nothing.WANT_OF_WORK
    report(first)
    assert claimed(box_2).row.id == tries[1].job


def test_an_urgent_submit_replaces_what_waits_in_its_thread_but_not_what_is_held(hall, box_1):
    tries = [hall.submit(thread_key="contestant:1") for _ in range(3)]
    claimed(box_1)
    urgent = hall.submit(thread_key="contestant:1", urgent=True)

    states = [Job.objects.get(id=receipt.job).state for receipt in tries]
    assert states == ["running", "superseded", "superseded"]
    assert Job.objects.get(id=tries[1].job).replaced_by == urgent.job


def test_a_rejudge_of_an_unknown_submission_is_not_found(hall):
    with pytest.raises(NotFound):
        hall.rejudge(new_id())
