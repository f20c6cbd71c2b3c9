"""What is deleted stays deleted, whoever holds it (queue.md §4, delete marks; seed 003)."""

from __future__ import annotations

import pytest

from tests.contract.cases.base import Case, claimed, progress, refused, release, report, states
from tests.contract.cases.holding import ALL_STALE, met


class Deleting(Case):
    """The mark and the end of the jobs are one step."""

    @pytest.mark.parametrize("stage", ["waiting", "held", "returned", "admitted"])
    def test_every_open_job_of_what_is_deleted_ends_marked(self, queue, lane, box_1, stage):
        receipt = queue.submit(lane)
        if stage != "waiting":
            handout = claimed(queue, box_1)
        if stage == "admitted":
            progress(queue, handout, "outside-1")
        if stage in {"returned", "admitted"}:
            release(queue, handout)
        assert queue.delete(receipt.submission)
        job = queue.job(receipt.job)

        assert (job.state, job.reason, job.marked, job.token) == ("cancelled", "deleted", True, None)
        assert queue.submission(receipt.submission).deleted
        assert queue.claim(box_1) is None

    def test_held_and_waiting_siblings_end_together(self, queue, lane, box_1):
        receipt = queue.submit(lane)
        claimed(queue, box_1)
        again = queue.rejudge(receipt.submission)
        queue.delete(receipt.submission)

        assert states(queue, receipt.job, again) == ["cancelled", "cancelled"]

    def test_the_holder_of_what_was_deleted_writes_nothing_more(self, queue, lane, box_1):
        receipt = queue.submit(lane)
        handout = claimed(queue, box_1)
        queue.delete(receipt.submission)
        before = queue.job(receipt.job)

        assert met(queue, handout.job, handout.token, box_1) == ALL_STALE
        with refused("runner.lease.stale"):
            progress(queue, handout, "outside-1")
        assert queue.job(receipt.job) == before

    def test_a_result_that_was_first_stays_with_what_is_deleted(self, queue, lane, box_1):
        receipt = queue.submit(lane)
        report(queue, claimed(queue, box_1))
        queue.delete(receipt.submission)

        assert (queue.job(receipt.job).state, queue.job(receipt.job).marked) == ("completed", False)

    def test_what_is_deleted_is_not_judged_again(self, queue, lane):
        receipt = queue.submit(lane)
        queue.delete(receipt.submission)

        for urgent in (False, True):
            with refused("not_found"):
                queue.rejudge(receipt.submission, urgent=urgent)

    def test_deleting_twice_is_deleting_once(self, store, queue, lane):
        receipt = queue.submit(lane)

        assert [queue.delete(receipt.submission) for _ in range(2)] == [True, False]
        with refused("not_found"):
            queue.delete(store.unknown())

    def test_other_submissions_of_the_thread_are_clean_before_and_after(self, queue, lane, box_1):
        before, doomed = (queue.submit(lane, thread="t") for _ in range(2))
        queue.delete(doomed.submission)
        after = queue.submit(lane, thread="t")

        assert [queue.job(receipt.job).marked for receipt in (before, after)] == [False, False]
        for receipt in (before, after):
            handout = claimed(queue, box_1)
            assert handout.job == receipt.job
            assert report(queue, handout).state == "completed"

    def test_a_held_job_that_is_deleted_lets_its_thread_go_on(self, queue, lane, box_1, box_2):
        doomed, behind = (queue.submit(lane, thread="t") for _ in range(2))
        claimed(queue, box_1)
        queue.delete(doomed.submission)

        assert claimed(queue, box_2).job == behind.job

    def test_keys_outlive_what_is_deleted_unless_they_are_forgotten(self, queue, lane):
        kept, forgotten = queue.submit(lane, key="k"), queue.submit(lane, key="l")
        queue.delete(kept.submission)
        queue.delete(forgotten.submission, forget_keys=True)

        assert queue.submit(lane, key="k").job == kept.job
        fresh = queue.submit(lane, key="l", content="another")
        assert not fresh.existing
        assert not queue.job(fresh.job).marked

    def test_a_wide_delete_takes_what_is_there_and_nothing_sent_later(self, store, queue, lane):
        author, other, swept = store.unknown(), store.unknown(), store.lane()
        mine = [queue.submit(lane, author=author) for _ in range(2)]
        theirs = queue.submit(lane, author=other)
        there = queue.submit(swept, author=other)

        assert queue.delete_work_of(authors=(author,), lanes=(swept,)) == 3
        assert queue.delete_work_of(authors=(author,), lanes=(swept,)) == 0
        later = queue.submit(lane, author=author)
        assert states(queue, *(receipt.job for receipt in (*mine, there))) == ["cancelled"] * 3
        assert states(queue, theirs.job, later.job) == ["queued", "queued"]
