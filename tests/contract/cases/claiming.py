"""Who gets what, and in which order: runner-protocol §4, queue.md §4 (claim), I1, I2; seeds 000 and 003."""

# ruff: noqa: PLR0917 - fixtures and parameters are asked for by name, and may be many
from __future__ import annotations

import pytest

from tests.contract.cases.base import LEASE, Case, at_once, broken, claimed, progress, refused, release, renew, report, states
from tests.contract.interface import CONTEST, JURY, PRACTICE, REJUDGE, URGENT


class Claiming(Case):
    """The conditions, the lease that is granted, and what a claim writes."""

    @pytest.mark.parametrize(
        ("work", "runner", "fits"),
        [
            ({}, {}, True),
            ({"problem_type": "icpc@1"}, {}, False),
            ({"problem_type": "icpc@1"}, {"types": ("standard-io@1", "icpc@1")}, True),
            ({}, {"types": ("standard-io@1 ",)}, False),
            ({}, {"types": ("Standard-IO@1",)}, False),
            ({}, {"types": ()}, False),
            ({"external": True}, {}, False),
            ({}, {"external": True}, False),
            ({"external": True}, {"external": True}, True),
            ({"pools": ("finals",)}, {}, False),
            ({"pools": ("finals",)}, {"tags": ("finals",)}, True),
            ({"pools": ("finals", "spare")}, {"tags": ("spare", "attic")}, True),
            ({"pools": ("finals",)}, {"tags": ("default",)}, False),
            ({}, {"tags": ("default",)}, True),
            ({}, {"tags": ("finals",)}, False),
            ({"pools": ("default", "finals")}, {}, True),
        ],
        ids=str,
    )
    def test_a_job_is_offered_if_type_external_and_pools_fit(self, store, queue, work, runner, fits):
        queue.external_judging(on=True)
        queue.submit(store.lane(**work))

        assert (queue.claim(store.runner(**runner)) is not None) is fits

    def test_external_work_waits_for_the_installations_switch(self, store, queue):
        queue.submit(store.lane(external=True))
        forwarder = store.runner(external=True)

        assert queue.claim(forwarder) is None
        queue.external_judging(on=True)
        assert queue.claim(forwarder) is not None
        queue.submit(store.lane(external=True))
        queue.external_judging(on=False)
        assert queue.claim(forwarder) is None

    def test_tags_and_pools_are_read_at_the_claim(self, queue, lane, box_1):
        queue.submit(lane)
        queue.reroute(lane, ("finals",))
        assert queue.claim(box_1) is None
        queue.retag(box_1, ("finals",))

        assert queue.claim(box_1) is not None

    def test_a_paused_lane_keeps_its_work_and_hands_it_out_in_order_when_resumed(self, queue, lane, box_1):
        receipts = [queue.submit(lane) for _ in range(3)]
        queue.pause(lane)
        assert queue.claim(box_1) is None
        queue.resume(lane)

        assert [claimed(queue, box_1).job for _ in receipts] == [receipt.job for receipt in receipts]

    def test_what_is_held_goes_on_while_its_lane_is_paused(self, queue, lane, box_1):
        queue.submit(lane)
        handout = claimed(queue, box_1)
        queue.pause(lane)
        renew(queue, handout)

        assert report(queue, handout).state == "completed"

    @pytest.mark.parametrize("level", ["draining", "closed"])
    def test_maintenance_hands_nothing_out_and_holders_go_on(self, queue, lane, box_1, level):
        for _ in range(2):
            queue.submit(lane)
        handout = claimed(queue, box_1)
        queue.maintenance(level)

        assert queue.claim(box_1) is None
        assert report(queue, handout).state == "completed"
        queue.maintenance("open")
        assert queue.claim(box_1) is not None

    @pytest.mark.parametrize("who", ["pending", "revoked", "unknown"])
    def test_a_runner_without_approval_is_refused(self, store, queue, lane, who):
        queue.submit(lane)
        runner = store.unknown() if who == "unknown" else store.runner(approved=who == "revoked")
        if who == "revoked":
            queue.revoke(runner)

        with refused("runner.notApproved"):
            queue.claim(runner)

    @pytest.mark.parametrize(
        ("asked", "granted"),
        [(None, 600), (60, 60), (59, 60), (0, 60), (-5, 60), (61, 61), (3600, 3600), (3601, 3600), (1e300, 3600), (90.9, 90)],
    )
    def test_a_lease_is_clamped_and_never_refused(self, store, queue, lane, box_1, asked, granted):
        queue.submit(lane)
        handout = claimed(queue, box_1, lease_seconds=asked)

        assert handout.granted == granted
        assert granted - 5 <= handout.until - store.now() <= granted

    def test_a_claim_writes_down_who_has_it(self, queue, lane, box_1):
        receipt = queue.submit(lane)
        handout = claimed(queue, box_1)
        job = queue.job(receipt.job)

        assert (handout.job, handout.submission, handout.attempt) == (receipt.job, receipt.submission, 1)
        assert (job.state, job.runner, job.token, job.until) == ("running", box_1, handout.token, handout.until)
        assert (job.deliveries, job.fence, job.heard) == (1, 1, False)

    def test_every_hand_out_has_a_token_of_its_own_and_a_higher_fence(self, store, queue, lane, box_1):
        receipt = queue.submit(lane)
        tokens, fences = set(), []
        for _ in range(8):
            handout = claimed(queue, box_1)
            tokens.add(handout.token)
            fences.append(queue.job(receipt.job).fence)
            release(queue, handout)

        assert (len(tokens), fences) == (8, list(range(1, 9)))

    def test_eight_claims_at_one_job_give_it_to_one(self, store, queue, lane):
        queue.submit(lane)
        boxes = [store.runner() for _ in range(8)]
        answers = at_once(store, *(lambda client, box=box: client.claim(box) for box in boxes))

        assert sum(answer is not None for answer in answers) == 1

    def test_eight_claims_at_eight_jobs_take_one_each(self, store, queue, lane):
        jobs = {queue.submit(lane).job for _ in range(8)}
        boxes = [store.runner() for _ in range(8)]
        answers = at_once(store, *(lambda client, box=box: client.claim(box) for box in boxes))

        assert {answer.job for answer in answers} == jobs

    def test_eight_claims_at_one_thread_never_run_two_of_it(self, store, queue, lane):
        receipts = [queue.submit(lane, thread="t") for _ in range(4)]
        boxes = [store.runner() for _ in range(8)]
        answers = at_once(store, *(lambda client, box=box: client.claim(box) for box in boxes))

        assert [answer.job for answer in answers if answer is not None] == [receipts[0].job]


class Ordering(Case):
    """Between threads and within one."""

    def test_the_oldest_goes_first_whatever_its_lane(self, store, queue, lane, box_1):
        other = store.lane()
        receipts = [queue.submit(into) for into in (other, lane, other, lane)]

        assert [claimed(queue, box_1).job for _ in receipts] == [receipt.job for receipt in receipts]

    def test_what_comes_back_keeps_its_place(self, queue, lane, box_1):
        receipts = [queue.submit(lane) for _ in range(3)]
        release(queue, claimed(queue, box_1))
        broken(queue, claimed(queue, box_1))

        assert [claimed(queue, box_1).job for _ in receipts] == [receipt.job for receipt in receipts]

    def test_priority_classes_come_before_age(self, store, queue, box_1):
        classes = (JURY, REJUDGE, PRACTICE, CONTEST)
        jobs = [queue.submit(store.lane(priority=priority)).job for priority in classes]
        jobs.append(queue.submit(store.lane(), urgent=True).job)

        assert [claimed(queue, box_1).job for _ in jobs] == jobs[::-1]

    def test_a_first_judging_has_its_lanes_class_a_rejudge_its_own_and_urgent_goes_over_all(self, store, queue):
        receipt = queue.submit(store.lane(priority=PRACTICE))
        again = queue.rejudge(receipt.submission)
        urgent = queue.rejudge(receipt.submission, urgent=True)

        assert [queue.job(job).priority for job in (receipt.job, again, urgent)] == [PRACTICE, REJUDGE, URGENT]

    def test_a_thread_goes_by_the_class_of_its_head(self, queue, lane, box_1):
        older, younger = (queue.submit(lane) for _ in range(2))
        head, behind = (queue.submit(lane, thread="t") for _ in range(2))
        queue.prioritise(behind.job, URGENT)
        assert claimed(queue, box_1).job == older.job
        queue.prioritise(head.job, PRACTICE)
        assert claimed(queue, box_1).job == younger.job

        assert claimed(queue, box_1).job == head.job

    def test_a_coarse_thread_is_judged_in_order_one_at_a_time(self, queue, lane, box_1, box_2):
        receipts = [queue.submit(lane, thread="t") for _ in range(3)]
        for receipt in receipts:
            handout = claimed(queue, box_1)
            assert handout.job == receipt.job
            assert queue.claim(box_2) is None
            report(queue, handout)

    def test_submissions_of_one_lane_run_side_by_side_when_each_is_a_thread(self, queue, lane, box_1, box_2):
        for _ in range(2):
            queue.submit(lane)

        assert claimed(queue, box_1).job != claimed(queue, box_2).job

    def test_urgent_goes_before_older_ones_of_its_thread(self, queue, lane, box_1, box_2):
        receipts = [queue.submit(lane, thread="t") for _ in range(2)]
        held = claimed(queue, box_1)
        urgent = queue.rejudge(receipts[1].submission, urgent=True)
        later = queue.submit(lane, thread="t")
        release(queue, held)

        jobs = []
        for _ in range(3):
            handout = claimed(queue, box_2)
            jobs.append(handout.job)
            report(queue, handout)
        assert jobs == [urgent, receipts[0].job, later.job]

    def test_started_goes_before_urgent(self, queue, lane, box_1):
        first = queue.submit(lane, thread="t")
        handout = claimed(queue, box_1)
        queue.submit(lane, thread="t", urgent=True)
        broken(queue, handout)

        assert claimed(queue, box_1).job == first.job

    def test_a_hand_out_given_back_is_not_started(self, queue, lane, box_1):
        queue.submit(lane, thread="t")
        handout = claimed(queue, box_1)
        urgent = queue.submit(lane, thread="t", urgent=True)
        release(queue, handout)

        assert claimed(queue, box_1).job == urgent.job


class Recovering(Case):
    """Leases that ran out, met by a claim (queue.md §4: recovery does not wait for cron)."""

    @pytest.mark.parametrize(("past", "recovered"), [(-1, False), (0, True), (1, True)])
    def test_a_claim_takes_over_at_the_deadline_and_not_before(self, store, queue, lane, box_1, box_2, past, recovered):
        receipt = queue.submit(lane)
        late = claimed(queue, box_1)
        store.forward(LEASE + past)
        handout = queue.claim(box_2)

        assert (handout is not None) is recovered
        if handout is not None:
            assert (handout.job, handout.token == late.token) == (receipt.job, False)

    def test_a_claim_that_finds_nothing_else_meets_every_lapsed_lease(self, store, queue, lane, box_1, box_2):
        """Those of others too, which lapsed first: they must not hide what this runner may take."""
        finals = store.runner(tags=("finals",))
        foreign = [queue.submit(store.lane(pools=("finals",))).job for _ in range(3)]
        for _ in foreign:
            claimed(queue, finals)
        mine = {queue.submit(lane).job for _ in range(2)}
        for _ in mine:
            claimed(queue, box_1)
        store.forward(LEASE + 60)

        assert {claimed(queue, box_2).job for _ in mine} == mine
        assert queue.claim(box_2) is None
        assert {claimed(queue, finals).job for _ in foreign} == set(foreign)

    def test_lapsed_leases_never_keep_a_claim_from_work_that_waits(self, store, queue, lane, box_1, box_2):
        for _ in range(20):
            queue.submit(lane)
            claimed(queue, box_1)
        store.forward(LEASE)
        queue.submit(lane)

        assert claimed(queue, box_2)

    def test_a_lapsed_holder_and_its_waiting_sibling_never_both_run(self, store, queue, lane, box_1, box_2):
        receipts = [queue.submit(lane, thread="t") for _ in range(2)]
        claimed(queue, box_1)
        store.forward(LEASE)
        claimed(queue, box_2)

        assert queue.claim(box_1) is None
        assert states(queue, *(receipt.job for receipt in receipts)) == ["running", "queued"]

    def test_a_lapsed_one_that_gives_way_to_an_urgent_one_is_ended(self, store, queue, lane, box_1, box_2):
        """Seed 003: a take ends the expired lease of a head that an urgent one displaced."""
        receipt = queue.submit(lane)
        late = claimed(queue, box_1)
        urgent = queue.rejudge(receipt.submission, urgent=True)
        store.forward(LEASE)

        assert claimed(queue, box_2).job == urgent
        assert queue.job(receipt.job).state == "queued"
        with refused("runner.lease.stale"):
            renew(queue, late)

    def test_a_claim_gives_up_what_has_no_hand_outs_left_and_looks_on(self, store, queue, box_1):
        """The cap is applied where a delivery ends, and again at the claim (queue.md §4)."""
        used_up = queue.submit(store.lane(cap=1))
        fine = queue.submit(store.lane(cap=1))
        progress(queue, claimed(queue, box_1))
        queue.give_back(used_up.job)
        assert states(queue, used_up.job) == ["queued"]

        assert claimed(queue, box_1).job == fine.job
        job = queue.job(used_up.job)
        assert (job.state, job.deliveries) == ("failed", 1)
        assert "1 deliver" in job.reason

    def test_a_thread_goes_on_behind_a_job_that_a_claim_gave_up(self, store, queue, box_1):
        lane = store.lane(cap=1)
        first, second = (queue.submit(lane, thread="t") for _ in range(2))
        claimed(queue, box_1)
        queue.give_back(first.job)

        assert claimed(queue, box_1).job == second.job
