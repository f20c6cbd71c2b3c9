"""Races with one right outcome: every row of queue.md §5, both orders, forced at the thread's lock.

Rows about one key, eight claims and eight reports at once stand with their verbs; what dies inside a verb is a
store's own to show (here: tests/kill).
"""

# ruff: noqa: PLR0917 - fixtures and parameters are asked for by name, and may be many
from __future__ import annotations

from functools import partial

import pytest

from tests.contract.cases.base import LEASE, Case, at_once, claimed, codes, progress, refused, release, renew, report, states

STALE = "runner.lease.stale"
FIRST = pytest.mark.parametrize("report_first", [True, False], ids=["report first", "report second"])
RENEWAL = pytest.mark.parametrize("renewal_first", [True, False], ids=["renewal first", "renewal second"])


class Racing(Case):
    """First at the lock decides; the loser gets its exact code."""

    @FIRST
    def test_report_and_cancel(self, store, queue, lane, box_1, report_first):
        queue.submit(lane)
        held = claimed(queue, box_1)
        acts = [lambda client: report(client, held), lambda client: client.cancel(held.job)]
        met = codes(store.in_order(held.job, *(acts if report_first else acts[::-1])))

        assert met == ["", "job.state" if report_first else STALE]
        assert states(queue, held.job) == ["completed" if report_first else "cancelled"]
        assert (queue.job(held.job).verdict is not None) is report_first

    @FIRST
    def test_report_and_revocation(self, store, queue, lane, box_1, report_first):
        queue.submit(lane)
        held = claimed(queue, box_1)
        acts = [lambda client: report(client, held), lambda client: client.revoke(box_1)]
        met = store.in_order(held.job, *(acts if report_first else acts[::-1]))

        if report_first:
            assert (codes(met), met[1]) == (["", ""], [])
        else:
            assert (codes(met), met[0]) == (["", STALE], [held.job])
        assert states(queue, held.job) == ["completed" if report_first else "queued"]

    @FIRST
    @pytest.mark.parametrize("urgent", [False, True])
    def test_report_and_rejudge(self, store, queue, lane, box_1, report_first, urgent):
        receipt = queue.submit(lane)
        held = claimed(queue, box_1)
        acts = [lambda client: report(client, held), lambda client: client.rejudge(receipt.submission, urgent=urgent)]
        met = store.in_order(held.job, *(acts if report_first else acts[::-1]))

        assert codes(met) == ["", ""]
        assert states(queue, held.job) == ["completed"]
        assert claimed(queue, box_1).attempt == 2

    @FIRST
    def test_report_and_delete(self, store, queue, lane, box_1, report_first):
        receipt = queue.submit(lane)
        held = claimed(queue, box_1)
        acts = [lambda client: report(client, held), lambda client: client.delete(receipt.submission)]
        met = codes(store.in_order(held.job, *(acts if report_first else acts[::-1])))

        assert met == ["", "" if report_first else STALE]
        job = queue.job(held.job)
        assert (job.state, job.marked) == (("completed", False) if report_first else ("cancelled", True))
        assert queue.submission(receipt.submission).deleted

    @FIRST
    def test_report_and_retag(self, store, queue, lane, box_1, report_first):
        """Retagging redirects what waits; what is held goes on."""
        queue.submit(lane)
        held = claimed(queue, box_1)
        acts = [lambda: report(queue, held), lambda: (queue.reroute(lane, ("finals",)), queue.retag(box_1, ("attic",)))]
        for act in acts if report_first else acts[::-1]:
            act()

        assert states(queue, held.job) == ["completed"]

    @FIRST
    def test_report_and_release(self, store, queue, lane, box_1, report_first):
        queue.submit(lane)
        held = claimed(queue, box_1)
        acts = [lambda client: report(client, held), lambda client: client.release(held.job, held.token, box_1)]
        met = codes(store.in_order(held.job, *(acts if report_first else acts[::-1])))

        assert met == ["", STALE]
        assert states(queue, held.job) == ["completed" if report_first else "queued"]

    @RENEWAL
    def test_renewal_and_cancel(self, store, queue, lane, box_1, renewal_first):
        queue.submit(lane)
        held = claimed(queue, box_1)
        acts = [lambda client: renew(client, held), lambda client: client.cancel(held.job)]
        met = codes(store.in_order(held.job, *(acts if renewal_first else acts[::-1])))

        assert met == ["", "" if renewal_first else STALE]
        assert states(queue, held.job) == ["cancelled"]

    @pytest.mark.parametrize("taker", ["claim", "sweep"])
    def test_a_renewal_that_is_first_saves_its_lapsed_lease(self, store, queue, lane, box_1, box_2, taker):
        queue.submit(lane)
        held = claimed(queue, box_1)
        store.forward(LEASE)
        store.in_order(held.job, lambda client: renew(client, held))
        taken = queue.claim(box_2) if taker == "claim" else queue.sweep().lapsed

        assert not taken
        assert queue.job(held.job).token == held.token

    @pytest.mark.parametrize("taker", ["claim", "sweep"])
    def test_a_renewal_that_comes_after_the_take_over_is_stale(self, store, queue, lane, box_1, box_2, taker):
        queue.submit(lane)
        held = claimed(queue, box_1)
        store.forward(LEASE)
        assert queue.claim(box_2) if taker == "claim" else queue.sweep().lapsed
        before = queue.job(held.job)
        met = codes(store.in_order(held.job, lambda client: renew(client, held), lambda client: report(client, held)))

        assert met == [STALE, STALE]
        assert queue.job(held.job) == before

    def test_renewals_sweeps_and_claims_at_the_instant_of_expiry(self, store, queue, lane, box_1, box_2):
        """Whatever the interleaving: either the lease lives on, or its holder is stale."""
        for _ in range(8):
            receipt = queue.submit(lane)
            held = claimed(queue, box_1)
            progress(queue, held)
            store.forward(queue.job(held.job).until - store.now())
            renewal = partial(renew, handout=held)
            met = at_once(store, renewal, lambda client: client.claim(box_2), lambda client: client.sweep())
            job = queue.job(receipt.job)
            if codes(met)[0] == "":
                assert job.token == held.token
            else:
                assert (codes(met)[0], job.token == held.token) == (STALE, False)
            queue.cancel(receipt.job)

    def test_sweeps_and_a_claim_at_once_handle_each_lapsed_job_once(self, store, queue, lane, box_1, box_2):
        receipts = [queue.submit(lane) for _ in range(6)]
        for _ in receipts:
            claimed(queue, box_1)
        store.forward(LEASE)
        at_once(store, *[lambda client: client.sweep()] * 3, lambda client: client.claim(box_2))
        queue.sweep()

        jobs = [queue.job(receipt.job) for receipt in receipts]
        assert [job.refunds for job in jobs] == [1] * 6
        assert all(job.token is None or job.runner == box_2 for job in jobs)

    def test_an_urgent_rejudge_leaves_a_held_unheard_head_its_lease(self, store, queue, lane, box_1):
        receipt = queue.submit(lane)
        held = claimed(queue, box_1)
        acts = [lambda client: client.rejudge(receipt.submission, urgent=True), lambda client: renew(client, held)]

        assert codes(store.in_order(held.job, *acts)) == ["", ""]
        assert report(queue, held).state == "completed"

    @pytest.mark.parametrize("delete_first", [True, False])
    def test_delete_and_rejudge(self, store, queue, lane, delete_first):
        receipt = queue.submit(lane)
        acts = [lambda client: client.delete(receipt.submission), lambda client: client.rejudge(receipt.submission)]
        met = codes(store.in_order(receipt.job, *(acts if delete_first else acts[::-1])))

        assert met == (["", "not_found"] if delete_first else ["", ""])
        assert {queue.job(job).state for job in queue.submission(receipt.submission).jobs} <= {"cancelled", "superseded"}

    @pytest.mark.parametrize("release_first", [True, False])
    def test_release_and_undone_hand_out(self, store, queue, lane, box_1, release_first):
        """An answer that arrived after all: one of the two gives the delivery back, never both."""
        queue.submit(lane)
        held = claimed(queue, box_1)
        acts = [lambda client: client.release(held.job, held.token, box_1), lambda client: client.undo_handout(held.job, held.token)]
        met = codes(store.in_order(held.job, *(acts if release_first else acts[::-1])))
        job = queue.job(held.job)

        assert met == (["", ""] if release_first else ["", STALE])
        assert (job.deliveries, job.releases, job.refunds) == ((0, 1, 0) if release_first else (0, 0, 1))

    def test_two_cancels_are_one(self, store, queue, lane):
        receipt = queue.submit(lane)

        assert codes(store.in_order(receipt.job, *[lambda client: client.cancel(receipt.job)] * 2)) == ["", "job.state"]

    def test_only_if_idle_and_the_report_that_makes_it_idle(self, store, queue, lane, box_1):
        queue.submit(lane, thread="t")
        held = claimed(queue, box_1)
        acts = [lambda client: report(client, held), lambda client: client.submit(lane, thread="t", only_if_idle=True)]

        assert codes(store.in_order(held.job, *acts)) == ["", ""]

    def test_no_hand_out_follows_a_revocation(self, store, queue, lane, box_1):
        for _ in range(8):
            queue.submit(lane)
        answers = at_once(
            store,
            *[lambda client: [client.claim(box_1) for _ in range(3)]] * 3,
            lambda client: client.revoke(box_1),
        )

        assert isinstance(answers[-1], list)
        jobs = set(answers[-1]) | {handout.job for got in answers[:-1] if isinstance(got, list) for handout in got if handout}
        assert all(queue.job(job).runner != box_1 for job in jobs)
        with refused("runner.notApproved"):
            queue.claim(box_1)

    def test_siblings_never_both_run_whatever_happens(self, store, queue, lane):
        receipt = queue.submit(lane)
        boxes = [store.runner() for _ in range(4)]
        seen: list[int] = []

        def judge(client, box):
            for n in range(6):
                handout = client.claim(box)
                jobs = client.submission(receipt.submission).jobs
                if handout is not None:
                    seen.append(sum(client.job(job).state == "running" for job in jobs))
                    (release if n % 2 else report)(client, handout)
                client.rejudge(receipt.submission, urgent=n % 3 == 0)

        at_once(store, *(lambda client, box=box: judge(client, box) for box in boxes))
        assert set(seen) <= {1}
        assert seen
