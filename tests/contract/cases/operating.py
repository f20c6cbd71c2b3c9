"""What operators do: rejudge, cancel, give back, prioritise, void, approve, revoke (queue.md §4; seed 000)."""

from __future__ import annotations

import pytest

from tests.contract.cases.base import Case, at_once, broken, claimed, progress, refused, release, renew, report, states
from tests.contract.interface import JURY, REJUDGE, URGENT


class Rejudging(Case):
    """A rejudge is always a new job, and interrupts nobody."""

    def test_a_rejudge_is_the_next_attempt(self, queue, lane, box_1):
        receipt = queue.submit(lane)
        report(queue, claimed(queue, box_1))
        again = queue.rejudge(receipt.submission)

        assert queue.submission(receipt.submission).jobs == (receipt.job, again)
        assert [queue.job(job).attempt for job in (receipt.job, again)] == [1, 2]
        assert states(queue, receipt.job, again) == ["completed", "queued"]

    def test_a_rejudge_ends_its_queued_sibling_which_no_runner_ever_sees(self, queue, lane, box_1):
        receipt = queue.submit(lane)
        again = queue.rejudge(receipt.submission)

        assert (queue.job(receipt.job).state, queue.job(receipt.job).replaced_by) == ("superseded", again)
        assert claimed(queue, box_1).job == again
        assert queue.claim(box_1) is None

    def test_a_rejudge_waits_for_the_attempt_that_a_runner_holds(self, queue, lane, box_1, box_2):
        receipt = queue.submit(lane)
        held = claimed(queue, box_1)
        again = queue.rejudge(receipt.submission)

        assert states(queue, receipt.job) == ["running"]
        assert queue.claim(box_2) is None
        renew(queue, held)
        assert report(queue, held).state == "completed"
        assert claimed(queue, box_2).job == again

    def test_an_urgent_rejudge_waits_for_the_attempt_that_a_runner_holds_too(self, queue, lane, box_1, box_2):
        receipt = queue.submit(lane)
        held = claimed(queue, box_1)
        again = queue.rejudge(receipt.submission, urgent=True)

        assert queue.claim(box_2) is None
        assert report(queue, held).state == "completed"
        assert claimed(queue, box_2).job == again

    def test_a_rejudge_leaves_other_submissions_of_its_thread(self, queue, lane):
        other, mine = (queue.submit(lane, thread="t") for _ in range(2))
        queue.rejudge(mine.submission)

        assert states(queue, other.job, mine.job) == ["queued", "superseded"]

    def test_a_rejudge_keeps_what_is_admitted(self, queue, lane, box_1):
        receipt = queue.submit(lane)
        handout = claimed(queue, box_1)
        progress(queue, handout, "outside-1")
        broken(queue, handout)
        queue.rejudge(receipt.submission)

        assert states(queue, receipt.job) == ["queued"]
        assert claimed(queue, box_1).job == receipt.job

    def test_an_unknown_submission_is_not_found(self, store, queue):
        with refused("not_found"):
            queue.rejudge(store.unknown())

    def test_attempts_are_numbered_in_order_whatever_comes_at_once(self, store, queue, lane):
        receipt = queue.submit(lane)
        jobs = at_once(store, *[lambda client: client.rejudge(receipt.submission)] * 8)

        assert sorted(queue.job(job).attempt for job in jobs) == list(range(2, 10))
        assert [queue.job(job).attempt for job in jobs if queue.job(job).state == "queued"] == [9]

    def test_urgent_rejudges_at_once_leave_the_latest(self, store, queue, lane):
        receipt = queue.submit(lane)
        jobs = at_once(store, *[lambda client: client.rejudge(receipt.submission, urgent=True)] * 8)

        assert [queue.job(job).attempt for job in jobs if queue.job(job).state == "queued"] == [9]


class Operating(Case):
    """An operator needs no lease."""

    @pytest.mark.parametrize("held", [False, True])
    def test_a_cancelled_job_is_finished_and_handed_out_no_more(self, queue, lane, box_1, held):
        receipt = queue.submit(lane)
        handout = claimed(queue, box_1) if held else None
        queue.cancel(receipt.job)
        job = queue.job(receipt.job)

        assert (job.state, job.token, job.finished, job.marked) == ("cancelled", None, True, False)
        assert queue.claim(box_1) is None
        if handout is not None:
            with refused("runner.lease.stale"):
                report(queue, handout)
            assert queue.job(receipt.job).verdict is None

    @pytest.mark.parametrize("fate", ["completed", "failed", "cancelled", "superseded"])
    @pytest.mark.parametrize("verb", ["cancel", "give_back", "prioritise"])
    def test_a_finished_job_never_changes(self, store, queue, box_1, fate, verb):
        receipt = queue.submit(store.lane(cap=1))
        if fate == "completed":
            report(queue, claimed(queue, box_1))
        if fate == "failed":
            broken(queue, claimed(queue, box_1))
        if fate == "cancelled":
            queue.cancel(receipt.job)
        if fate == "superseded":
            queue.rejudge(receipt.submission)
        before = queue.job(receipt.job)
        assert before.state == fate

        with refused("job.state"):
            queue.prioritise(receipt.job, URGENT) if verb == "prioritise" else getattr(queue, verb)(receipt.job)
        assert queue.job(receipt.job) == before

    def test_a_cancel_lets_the_waiting_sibling_go(self, queue, lane, box_1, box_2):
        receipt = queue.submit(lane)
        claimed(queue, box_1)
        again = queue.rejudge(receipt.submission)
        queue.cancel(receipt.job)

        assert claimed(queue, box_2).job == again

    def test_a_job_given_back_is_fenced_off_and_its_delivery_counted(self, queue, lane, box_1, box_2):
        receipt = queue.submit(lane)
        late = claimed(queue, box_1)
        queue.give_back(receipt.job)

        assert (queue.job(receipt.job).state, queue.job(receipt.job).deliveries) == ("queued", 1)
        with refused("runner.lease.stale"):
            renew(queue, late)
        assert claimed(queue, box_2).job == receipt.job

    def test_a_job_that_nobody_holds_cannot_be_given_back(self, queue, lane):
        receipt = queue.submit(lane)

        with refused("job.state"):
            queue.give_back(receipt.job)

    @pytest.mark.parametrize("verb", ["cancel", "give_back", "void"])
    def test_an_unknown_job_is_not_found(self, store, queue, verb):
        with refused("not_found"):
            getattr(queue, verb)(store.unknown())
        with refused("not_found"):
            queue.prioritise(store.unknown(), URGENT)

    def test_a_job_in_another_class_goes_by_it_at_once(self, queue, lane, box_1):
        first, second, third = (queue.submit(lane) for _ in range(3))
        queue.prioritise(first.job, JURY)
        queue.prioritise(third.job, URGENT)

        assert [claimed(queue, box_1).job for _ in range(3)] == [third.job, second.job, first.job]

    def test_another_class_leaves_the_order_within_a_thread(self, queue, lane, box_1):
        first, second = (queue.submit(lane, thread="t") for _ in range(2))
        queue.prioritise(second.job, URGENT)

        assert claimed(queue, box_1).job == first.job

    def test_another_class_leaves_the_holder_alone_and_stays_when_the_job_comes_back(self, queue, lane, box_1):
        receipt = queue.submit(lane)
        handout = claimed(queue, box_1)
        queue.prioritise(receipt.job, REJUDGE)

        assert release(queue, handout).priority == REJUDGE

    def test_a_voided_result_stays_and_nothing_runs_again(self, queue, lane, box_1):
        receipt = queue.submit(lane)
        report(queue, claimed(queue, box_1))
        queue.void(receipt.job)
        job = queue.job(receipt.job)

        assert (job.state, job.voided, job.admitted, job.verdict) == ("completed", True, True, "Accepted")
        assert queue.claim(box_1) is None
        assert queue.submission(receipt.submission).jobs == (receipt.job,)

    @pytest.mark.parametrize("fate", ["waiting", "held", "voided", "failed", "cancelled"])
    def test_only_a_result_that_counts_can_be_voided(self, store, queue, box_1, fate):
        receipt = queue.submit(store.lane(cap=1))
        if fate == "cancelled":
            queue.cancel(receipt.job)
        if fate == "held":
            claimed(queue, box_1)
        if fate == "voided":
            report(queue, claimed(queue, box_1))
            queue.void(receipt.job)
        if fate == "failed":
            broken(queue, claimed(queue, box_1))

        with refused("job.state"):
            queue.void(receipt.job)

    def test_an_approval_lets_a_runner_judge_and_never_overtakes_a_revocation(self, store, queue, lane):
        queue.submit(lane)
        runner = store.runner(approved=False)
        queue.approve(runner)
        queue.approve(runner)
        release(queue, claimed(queue, runner))
        queue.revoke(runner)

        with refused("runner.revoked"):
            queue.approve(runner)
        with refused("runner.notApproved"):
            queue.claim(runner)
        assert queue.revoke(runner) == []

    def test_an_unknown_runner_is_not_found(self, store, queue):
        for verb in (queue.approve, queue.revoke):
            with refused("not_found"):
                verb(store.unknown())
