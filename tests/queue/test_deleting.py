"""What is deleted stays deleted, whoever holds it (queue.md §4, delete marks)."""

import pytest

from judging import queue
from judging.errors import LeaseStale, NotFound
from judging.models import Job, Result
from runners.keys import new_id
from tests.queue.conftest import OPERATOR, claimed, renew, report, stored


def delete(submission, **fields):
    return queue.delete_submission(submission, by=OPERATOR, reason="withdrawn", **fields)


def test_a_waiting_job_of_a_deleted_submission_is_cancelled(hall, box_1):
    receipt = hall.submit()
    assert delete(receipt.submission)

    job = stored(receipt.job)
    assert (job.state, job.reason, job.marked) == ("cancelled", "deleted", True)
    assert queue.claim(box_1) is queue.Nothing.WANT_OF_WORK


def test_the_holder_of_a_deleted_submissions_job_can_write_nothing_more(hall, box_1):
    receipt = hall.submit()
    job = claimed(box_1)
    delete(receipt.submission)

    for act in (lambda: renew(job), lambda: report(job), lambda: queue.release(job.row.id, token=job.row.token, runner=box_1)):
        with pytest.raises(LeaseStale):
            act()
    with pytest.raises(LeaseStale):
        queue.attach(job.row.id, token=job.row.token, runner=box_1, file=None, name="log")
    assert not Result.objects.exists()


def test_a_deleted_submission_is_not_judged_again(hall):
    receipt = hall.submit()
    delete(receipt.submission)

    with pytest.raises(NotFound):
        hall.rejudge(receipt.submission)


def test_deleting_twice_is_deleting_once(hall):
    receipt = hall.submit()

    assert [delete(receipt.submission), delete(receipt.submission)] == [True, False]
    with pytest.raises(NotFound):
        delete(new_id())


def test_another_submission_of_the_same_thread_is_clean(hall, box_1):
    first = hall.submit(thread_key="contestant:1")
    claimed(box_1)
    delete(first.submission)
    second = hall.submit(thread_key="contestant:1")

    assert not stored(second.job).marked
    assert report(claimed(box_1)).state == "completed"


def test_a_submission_sent_after_a_wide_delete_is_not_deleted(hall):
    author = new_id()
    for _ in range(3):
        hall.submit(author=author)
    hall.submit(author=new_id())

    assert queue.delete_work_of(authors=[author], by=OPERATOR, reason="left") == 3
    assert queue.delete_work_of(authors=[author], by=OPERATOR, reason="left") == 0
    late = hall.submit(author=author)
    assert Job.objects.filter(state="queued").count() == 2
    assert stored(late.job).state == "queued"


def test_a_retry_after_the_delete_gets_the_old_receipt_unless_the_keys_were_forgotten(hall):
    first = hall.submit(key="k")
    delete(first.submission)
    assert hall.submit(key="k").submission == first.submission

    second = hall.submit(key="l")
    delete(second.submission, forget_keys=True)
    assert hall.submit(key="l").submission != second.submission
