"""Work that was handed to an outside judge is never handed over twice (queue.md §4, admit outside)."""

import pytest

from judging import queue
from judging.errors import JobAdmitted, LeaseStale, MalformedRequest
from tests.queue.conftest import claimed, release, stored


def hand_over(job, outside):
    queue.progress(job.row.id, token=job.row.token, runner=job.row.runner, outside_id=outside)


def test_a_later_delivery_is_told_the_outside_id(hall, box_1, box_2):
    hall.submit()
    job = claimed(box_1)
    hand_over(job, "uva-123")
    release(job)

    assert claimed(box_2).outside_id == "uva-123"


def test_saying_the_same_outside_id_again_changes_nothing_and_another_is_refused(hall, box_1):
    hall.submit()
    job = claimed(box_1)
    hand_over(job, "uva-123")
    hand_over(job, "uva-123")

    with pytest.raises(JobAdmitted):
        hand_over(job, "uva-124")
    assert stored(job.row.id).outside_id == "uva-123"


def test_a_refused_outside_id_was_heard_all_the_same(hall, box_1):
    """Anything a runner did answer against counts (seed 000)."""
    hall.submit()
    job = claimed(box_1)
    hand_over(job, "uva-123")
    release(job)
    again = claimed(box_1)

    with pytest.raises(JobAdmitted):
        hand_over(again, "uva-124")
    assert stored(again.row.id).heard


@pytest.mark.parametrize("outside", ["", "  ", "x" * 201])
def test_an_outside_id_has_1_to_200_characters(hall, box_1, outside):
    hall.submit()

    with pytest.raises(MalformedRequest):
        hand_over(claimed(box_1), outside)


def test_a_rejudge_does_not_supersede_admitted_work_and_waits_behind_it(hall, box_1):
    receipt = hall.submit()
    job = claimed(box_1)
    hand_over(job, "uva-123")
    release(job)
    hall.rejudge(receipt.submission, urgent=True)

    assert claimed(box_1).row.id == receipt.job


def test_a_late_holder_cannot_name_an_outside_id(hall, box_1, box_2, clock):
    hall.submit()
    late = claimed(box_1)
    clock.forward(seconds=601)
    claimed(box_2)

    with pytest.raises(LeaseStale):
        hand_over(late, "uva-123")
    assert not stored(late.row.id).admitted
