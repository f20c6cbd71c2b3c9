"""What was answered is stored: after any end of every process the queue goes on from there (architecture §4)."""

from __future__ import annotations

from tests.contract.cases.base import LEASE, Case, broken, claimed, progress, refused, release, renew, report, states

MONTH = 30 * 86_400


class Lasting(Case):
    """A runner keeps nothing but caches, and neither does a process of the server."""

    def test_a_receipt_a_lease_and_a_result_outlive_every_process(self, store, queue, lane, box_1):
        receipt = queue.submit(lane, key="k")
        store.reopen()
        assert queue.submit(lane, key="k").job == receipt.job
        handout = claimed(queue, box_1)
        store.reopen()
        renew(queue, handout)
        first = report(queue, handout)
        store.reopen()

        assert report(queue, handout).result == first.result

    def test_counts_budgets_and_marks_outlive_every_process(self, store, queue, lane, box_1, box_2):
        receipt = queue.submit(lane)
        handout = claimed(queue, box_1)
        progress(queue, handout, "outside-1")
        broken(queue, handout)
        before = queue.job(receipt.job)
        store.reopen()

        assert queue.job(receipt.job) == before
        assert claimed(queue, box_2).outside == "outside-1"

    def test_a_holder_that_died_is_recovered_by_whoever_comes(self, store, queue, lane, box_1, box_2):
        receipt = queue.submit(lane)
        claimed(queue, box_1)
        store.reopen()
        assert queue.claim(box_2) is None
        store.forward(LEASE)

        assert claimed(queue, box_2).job == receipt.job

    def test_what_was_ended_stays_ended(self, store, queue, lane, box_1):
        receipts = [queue.submit(lane) for _ in range(3)]
        queue.cancel(receipts[0].job)
        queue.delete(receipts[1].submission)
        queue.revoke(box_1)
        store.reopen()

        assert states(queue, *(receipt.job for receipt in receipts)) == ["cancelled", "cancelled", "queued"]
        with refused("runner.notApproved"):
            queue.claim(box_1)


class Reclaiming(Case):
    """Finished jobs leave when their time is over; an open one never does (queue.md §4, reclaim; seed 003)."""

    def test_a_finished_job_leaves_after_its_time_and_is_then_unknown(self, store, queue, lane, box_1):
        receipt = queue.submit(lane)
        handout = claimed(queue, box_1)
        report(queue, handout)
        store.forward(MONTH - 10)
        assert queue.prune(lane, seconds=MONTH) == 0
        store.forward(20)

        assert queue.prune(lane, seconds=MONTH) == 1
        for act in (lambda: queue.job(receipt.job), lambda: report(queue, handout), lambda: queue.cancel(receipt.job)):
            with refused("not_found"):
                act()

    def test_an_open_job_never_leaves(self, store, queue, lane, box_1, box_2):
        receipts = [queue.submit(lane) for _ in range(3)]
        progress(queue, claimed(queue, box_1))
        release(queue, claimed(queue, box_2))
        store.forward(10 * MONTH)

        assert queue.prune(lane, seconds=MONTH) == 0
        assert states(queue, *(receipt.job for receipt in receipts)) == ["running", "queued", "queued"]

    def test_an_open_attempt_stays_when_the_finished_ones_leave_and_the_count_goes_on(self, store, queue, lane, box_1):
        receipt = queue.submit(lane)
        report(queue, claimed(queue, box_1))
        store.forward(MONTH + 1)
        again = queue.rejudge(receipt.submission)
        assert queue.prune(lane, seconds=MONTH) == 1

        assert queue.submission(receipt.submission).jobs == (again,)
        assert queue.job(again).attempt == 2
        assert queue.job(queue.rejudge(receipt.submission)).attempt == 3

    def test_a_key_lives_as_long_as_its_ticket(self, store, queue, lane, box_1):
        first = queue.submit(lane, key="k")
        report(queue, claimed(queue, box_1))
        store.forward(MONTH + 1)
        assert queue.submit(lane, key="k").existing
        queue.prune(lane, seconds=MONTH)

        assert queue.submit(lane, key="k").submission != first.submission

    def test_other_lanes_are_left_alone(self, store, queue, lane, box_1):
        receipt = queue.submit(lane)
        report(queue, claimed(queue, box_1))
        store.forward(MONTH + 1)

        assert queue.prune(store.lane(), seconds=MONTH) == 0
        assert states(queue, receipt.job) == ["completed"]
