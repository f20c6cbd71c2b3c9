"""What retention removes and what it never touches (queue.md §4, reclaim)."""

from datetime import timedelta

from judging import queue
from judging.models import Delivery, Job, LedgerRecord, Result, Submission, Ticket
from tests.queue.conftest import claimed, release, report


def prune(hall, clock) -> int:
    return queue.prune(before=clock.now() - timedelta(days=30), lanes=[hall.lane])


def test_a_finished_job_leaves_after_its_time_and_its_result_and_source_stay(hall, box_1, clock):
    receipt = hall.submit(key="k")
    report(claimed(box_1))
    clock.forward(days=31)

    assert prune(hall, clock) == 1
    assert not Job.objects.exists()
    assert not Delivery.objects.exists()
    assert not Ticket.objects.exists()
    result = Result.objects.get()
    assert (result.submission_id, result.attempt, result.verdict) == (receipt.submission, 1, "Accepted")
    assert Submission.objects.filter(id=receipt.submission).exists()
    assert list(LedgerRecord.objects.order_by("n").values_list("type", flat=True)) == ["submitted", "leased", "reported", "reclaimed"]


def test_a_job_finished_a_moment_inside_its_time_stays(hall, box_1, clock):
    hall.submit()
    report(claimed(box_1))
    clock.forward(days=30, seconds=-5)

    assert prune(hall, clock) == 0


def test_an_open_job_and_its_evidence_are_never_pruned(hall, box_1, clock):
    hall.submit()
    release(claimed(box_1))
    clock.forward(days=400)

    assert prune(hall, clock) == 0
    assert Delivery.objects.count() == 1


def test_the_finished_attempt_goes_and_the_open_one_of_the_same_submission_stays(hall, box_1, clock):
    receipt = hall.submit()
    report(claimed(box_1))
    clock.forward(days=31)
    again = hall.rejudge(receipt.submission)

    assert prune(hall, clock) == 1
    job = claimed(box_1)
    assert (job.row.id, job.row.attempt) == (again, 2)


def test_a_rejudge_after_pruning_goes_on_counting_attempts(hall, box_1, clock):
    receipt = hall.submit()
    report(claimed(box_1))
    clock.forward(days=31)
    prune(hall, clock)

    assert Job.objects.get(id=hall.rejudge(receipt.submission)).attempt == 2


def test_another_lane_is_left_alone(hall, box_1, clock):
    hall.submit(lane=hall.other_lane())
    report(claimed(box_1))
    clock.forward(days=31)

    assert prune(hall, clock) == 0
