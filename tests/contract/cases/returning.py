"""How a job comes back: every row of runner-protocol §6, with its budgets at both ends."""

# ruff: noqa: PLR0917 - fixtures and parameters are asked for by name, and may be many
from __future__ import annotations

import pytest

from tests.contract.cases.base import LEASE, Case, broken, claimed, lost, progress, refused, release, renew, report, states


class Returning(Case):
    """Five deliveries; three free releases and, apart from them, three free refunds a job."""

    def test_three_releases_are_free_and_the_eighth_fails_the_job(self, queue, lane, box_1):
        receipt = queue.submit(lane)
        after = [release(queue, claimed(queue, box_1)) for _ in range(8)]

        assert [job.deliveries for job in after] == [0, 0, 0, 1, 2, 3, 4, 5]
        assert [job.state for job in after] == ["queued"] * 7 + ["failed"]
        assert after[-1].reason == "Given up after 5 deliveries: released"
        assert queue.claim(box_1) is None
        assert queue.job(receipt.job).finished

    def test_a_release_is_free_although_the_delivery_was_heard(self, queue, lane, box_1):
        queue.submit(lane)
        handout = claimed(queue, box_1)
        renew(queue, handout)

        assert release(queue, handout).deliveries == 0

    def test_three_losses_never_heard_of_are_free_and_the_eighth_fails_the_job(self, store, queue, lane, box_1):
        queue.submit(lane)
        after = [lost(store, queue, claimed(queue, box_1)) for _ in range(8)]

        assert [job.deliveries for job in after] == [0, 0, 0, 1, 2, 3, 4, 5]
        assert [job.refunds for job in after] == [1, 2, 3, 3, 3, 3, 3, 3]
        assert [job.state for job in after] == ["queued"] * 7 + ["failed"]
        assert after[-1].reason == "Given up after 5 deliveries: lease expired"

    def test_losses_after_being_heard_count_from_the_first(self, store, queue, lane, box_1):
        queue.submit(lane)
        after = []
        for _ in range(5):
            handout = claimed(queue, box_1)
            progress(queue, handout)
            after.append(lost(store, queue, handout))

        assert [job.deliveries for job in after] == [1, 2, 3, 4, 5]
        assert [job.refunds for job in after] == [0] * 5
        assert [job.state for job in after] == ["queued"] * 4 + ["failed"]

    def test_infrastructure_failures_count_from_the_first_and_the_fifth_fails_the_job(self, queue, lane, box_1):
        receipt = queue.submit(lane)
        answers = [broken(queue, claimed(queue, box_1), f"no disk {n}") for n in range(5)]

        assert [answer.state for answer in answers] == ["queued"] * 4 + ["failed"]
        assert [answer.result is None for answer in answers] == [True] * 4 + [False]
        job = queue.job(receipt.job)
        assert "5 deliveries: infrastructure failure" in job.reason
        assert "no disk 4" in job.reason
        assert job.verdict == ""

    def test_an_infrastructure_failure_keeps_its_reason(self, queue, lane, box_1):
        receipt = queue.submit(lane)
        broken(queue, claimed(queue, box_1), "the checker crashed")

        assert "the checker crashed" in queue.job(receipt.job).reason

    def test_the_two_free_budgets_are_apart(self, store, queue, lane, box_1):
        queue.submit(lane)
        for _ in range(3):
            release(queue, claimed(queue, box_1))
        free = [lost(store, queue, claimed(queue, box_1)) for _ in range(3)]
        counted = [release(queue, claimed(queue, box_1)), lost(store, queue, claimed(queue, box_1))]

        assert [job.deliveries for job in (*free, *counted)] == [0, 0, 0, 1, 2]

    def test_an_undone_hand_out_is_given_back_three_times_and_counted_then(self, queue, lane, box_1):
        receipt = queue.submit(lane)
        after = []
        for _ in range(4):
            handout = claimed(queue, box_1)
            queue.undo_handout(handout.job, handout.token)
            after.append(queue.job(receipt.job))

        assert [(job.deliveries, job.refunds) for job in after] == [(0, 1), (0, 2), (0, 3), (1, 3)]
        assert {job.state for job in after} == {"queued"}

    def test_undone_and_lost_hand_outs_share_their_budget(self, store, queue, lane, box_1):
        queue.submit(lane)
        for _ in range(3):
            handout = claimed(queue, box_1)
            queue.undo_handout(handout.job, handout.token)

        assert lost(store, queue, claimed(queue, box_1)).deliveries == 1

    @pytest.mark.parametrize("meanwhile", ["heard", "released", "taken over", "another token", "another job"])
    def test_undoing_does_nothing_to_what_is_held_rightly(self, store, queue, lane, box_1, box_2, meanwhile):
        receipt = queue.submit(lane)
        handout = claimed(queue, box_1)
        token = store.unknown() if meanwhile == "another token" else handout.token
        if meanwhile == "heard":
            renew(queue, handout)
        if meanwhile in {"released", "taken over"}:
            release(queue, handout)
        if meanwhile == "taken over":
            claimed(queue, box_2)
        before = queue.job(receipt.job)
        queue.undo_handout(store.unknown() if meanwhile == "another job" else receipt.job, token)

        assert queue.job(receipt.job) == before

    @pytest.mark.parametrize("heard", [False, True])
    def test_a_revocation_counts_the_delivery_and_never_fails_the_job(self, store, queue, lane, heard):
        receipt = queue.submit(lane)
        counts = []
        for _ in range(5):
            runner = store.runner()
            handout = claimed(queue, runner)
            if heard:
                renew(queue, handout)
            assert queue.revoke(runner) == [receipt.job]
            counts.append(queue.job(receipt.job).deliveries)

        assert counts == [1, 2, 3, 4, 5]
        assert states(queue, receipt.job) == ["queued"]
        assert queue.claim(store.runner()) is None
        assert queue.job(receipt.job).reason == "Given up after 5 deliveries: runner revoked"

    def test_a_revocation_takes_everything_the_runner_holds_and_nothing_else(self, store, queue, lane, box_1, box_2):
        receipts = [queue.submit(lane) for _ in range(3)]
        held = [claimed(queue, box) for box in (box_1, box_1, box_2)]

        assert set(queue.revoke(box_1)) == {receipt.job for receipt in receipts[:2]}
        assert states(queue, *(receipt.job for receipt in receipts)) == ["queued", "queued", "running"]
        for handout in held[:2]:
            with refused("runner.lease.stale"):
                report(queue, handout)
        assert report(queue, held[2]).state == "completed"

    @pytest.mark.parametrize("cap", [1, 2, 7])
    def test_a_problems_own_cap_decides(self, store, queue, box_1, cap):
        receipt = queue.submit(store.lane(cap=cap))
        answers = [broken(queue, claimed(queue, box_1)).state for _ in range(cap)]

        assert answers == ["queued"] * (cap - 1) + ["failed"]
        assert queue.job(receipt.job).deliveries == cap

    def test_with_a_cap_of_one_free_returns_are_still_free(self, store, queue, box_1):
        receipt = queue.submit(store.lane(cap=1))
        release(queue, claimed(queue, box_1))
        lost(store, queue, claimed(queue, box_1))
        handout = claimed(queue, box_1)
        progress(queue, handout)

        assert lost(store, queue, handout).state == "failed"
        assert queue.job(receipt.job).deliveries == 1

    def test_what_failed_is_never_handed_out_or_returned_again(self, store, queue, box_1):
        receipt = queue.submit(store.lane(cap=1))
        broken(queue, claimed(queue, box_1))
        before = queue.job(receipt.job)
        store.forward(10 * LEASE)
        queue.sweep()

        assert queue.claim(box_1) is None
        assert queue.job(receipt.job) == before

    @pytest.mark.parametrize(("past", "state"), [(-1, "running"), (0, "queued"), (1, "queued")])
    def test_a_sweep_takes_a_job_at_its_deadline_and_not_before(self, store, queue, lane, box_1, past, state):
        receipt = queue.submit(lane)
        claimed(queue, box_1)
        store.forward(LEASE + past)
        queue.sweep()

        assert states(queue, receipt.job) == [state]

    def test_a_sweep_says_what_it_did(self, store, queue, lane, box_1):
        for into in (lane, store.lane(), store.lane(cap=1)):
            queue.submit(into)
        handouts = [claimed(queue, box_1) for _ in range(3)]
        progress(queue, handouts[2])
        store.forward(2 * LEASE)
        swept = queue.sweep()

        assert (swept.lapsed, swept.returned, swept.given_up, swept.orphaned) == (3, 2, 1, 0)
        again = queue.sweep()
        assert (again.lapsed, again.returned, again.given_up, again.orphaned) == (0, 0, 0, 0)

    def test_an_urgent_one_that_comes_back_unstarted_gives_way_to_a_newer_urgent_one(self, queue, lane, box_1):
        """I3: one open urgent job of a thread waits unstarted, and the latest wins."""
        receipt = queue.submit(lane)
        older = queue.rejudge(receipt.submission, urgent=True)
        held = claimed(queue, box_1)
        newer = queue.rejudge(receipt.submission, urgent=True)
        assert states(queue, older, newer) == ["running", "queued"]
        release(queue, held)

        assert (queue.job(older).state, queue.job(older).replaced_by) == ("superseded", newer)
        assert claimed(queue, box_1).job == newer

    def test_an_urgent_one_that_comes_back_counted_goes_before_a_newer_urgent_one(self, queue, lane, box_1):
        receipt = queue.submit(lane)
        older = queue.rejudge(receipt.submission, urgent=True)
        held = claimed(queue, box_1)
        newer = queue.rejudge(receipt.submission, urgent=True)
        broken(queue, held)

        assert states(queue, older, newer) == ["queued", "queued"]
        assert claimed(queue, box_1).job == older
