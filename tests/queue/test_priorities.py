"""An operator's word on what goes first (queue.md §4)."""

import pytest

from judging import queue
from judging.errors import JobStateWrong
from judging.states import Priority
from tests.queue.conftest import OPERATOR, claimed, report


def test_a_job_moved_to_another_class_goes_by_it_at_once(hall, box_1):
    first, second = hall.submit(), hall.submit()
    queue.prioritise(first.job, Priority.JURY, by=OPERATOR, reason="not now")

    assert [claimed(box_1).row.id for _ in range(2)] == [second.job, first.job]


def test_a_finished_job_has_no_class_to_change(hall, box_1):
    receipt = hall.submit()
    report(claimed(box_1))

    with pytest.raises(JobStateWrong):
        queue.prioritise(receipt.job, Priority.URGENT, by=OPERATOR, reason="late")
