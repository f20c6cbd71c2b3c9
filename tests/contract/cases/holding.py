"""What a lease allows: the one gate, renewals, being heard (seed 000, runner-protocol §5, I5)."""

# ruff: noqa: PLR0917 - fixtures and parameters are asked for by name, and may be many
from __future__ import annotations

from functools import partial

import pytest

from tests.contract.cases.base import LEASE, Case, broken, claimed, code_of, lost, progress, refused, release, renew, report
from tests.contract.interface import Client, Id

GATED = ["renew", "progress", "release", "attach", "report"]
ALL_STALE = dict.fromkeys(GATED, "runner.lease.stale")


def call(queue: Client, verb: str, job: Id, token: Id | None, runner: Id) -> None:
    """One call of a holder, whichever it is."""
    if verb == "attach":
        queue.attach(job, token, runner, name="log")
    else:
        getattr(queue, verb)(job, token, runner)


def met(queue: Client, job: Id, token: Id | None, runner: Id) -> dict[str, str]:
    """The code that each call of a holder meets; empty for one that succeeds."""
    return {verb: code_of(partial(call, queue, verb, job, token, runner)) for verb in GATED}


class Holding(Case):
    """The gate's order is: exists, token current, owner, running. The deadline alone refuses nobody."""

    def test_a_job_nobody_issued_is_not_found(self, store, queue, box_1):
        unknown = store.unknown()

        assert met(queue, unknown, store.unknown(), box_1) == dict.fromkeys(GATED, "not_found")
        assert met(queue, unknown, None, box_1) == dict.fromkeys(GATED, "not_found")

    def test_a_token_nobody_issued_is_stale(self, store, queue, lane, box_1):
        queue.submit(lane)
        handout = claimed(queue, box_1)

        assert met(queue, handout.job, store.unknown(), box_1) == ALL_STALE
        assert queue.job(handout.job).token == handout.token

    def test_no_lease_matches_no_token(self, store, queue, lane, box_1):
        waiting = queue.submit(lane)

        assert met(queue, waiting.job, store.unknown(), box_1) == ALL_STALE
        assert met(queue, waiting.job, None, box_1) == ALL_STALE | {"report": "runner.lease.malformed"}

    def test_what_cannot_be_a_token_is_stale_but_to_a_report_malformed(self, queue, lane, box_1):
        queue.submit(lane)
        handout = claimed(queue, box_1)

        assert met(queue, handout.job, None, box_1) == ALL_STALE | {"report": "runner.lease.malformed"}
        assert queue.job(handout.job).state == "running"

    def test_a_leaked_token_is_foreign_in_another_runners_hands(self, queue, lane, box_1, box_2):
        queue.submit(lane)
        handout = claimed(queue, box_1)

        assert met(queue, handout.job, handout.token, box_2) == dict.fromkeys(GATED, "runner.lease.foreign")
        job = queue.job(handout.job)
        assert (job.state, job.heard, job.runner) == ("running", False, box_1)

    def test_an_old_token_is_stale_in_anybodys_hands_and_changes_nothing(self, store, queue, lane, box_1, box_2):
        queue.submit(lane)
        late = claimed(queue, box_1)
        store.forward(LEASE)
        fresh = claimed(queue, box_2)
        before = queue.job(late.job)

        for who in (box_1, box_2, store.runner()):
            assert met(queue, late.job, late.token, who) == ALL_STALE
        assert queue.job(late.job) == before
        assert report(queue, fresh).state == "completed"

    def test_a_token_opens_its_own_job_alone(self, queue, lane, box_1):
        for _ in range(2):
            queue.submit(lane)
        one, other = claimed(queue, box_1), claimed(queue, box_1)

        assert met(queue, other.job, one.token, box_1) == ALL_STALE

    @pytest.mark.parametrize("end", ["reported", "cancelled", "given back", "released", "broken", "lapsed", "undone", "deleted", "failed"])
    def test_the_token_of_a_delivery_that_ended_is_stale(self, store, queue, box_1, end):
        receipt = queue.submit(store.lane(cap=1 if end == "failed" else 5))
        handout = claimed(queue, box_1)
        {
            "reported": lambda: report(queue, handout),
            "cancelled": lambda: queue.cancel(receipt.job),
            "given back": lambda: queue.give_back(receipt.job),
            "released": lambda: release(queue, handout),
            "broken": lambda: broken(queue, handout),
            "lapsed": lambda: lost(store, queue, handout),
            "undone": lambda: queue.undo_handout(receipt.job, handout.token),
            "deleted": lambda: queue.delete(receipt.submission),
            "failed": lambda: broken(queue, handout),
        }[end]()

        assert queue.job(receipt.job).token is None
        reported = {"report": ""} if end in {"reported", "failed"} else {}
        assert met(queue, receipt.job, handout.token, box_1) == ALL_STALE | reported

    @pytest.mark.parametrize("verb", GATED)
    def test_an_expired_lease_that_nobody_took_still_does_everything(self, store, queue, lane, box_1, verb):
        queue.submit(lane)
        handout = claimed(queue, box_1)
        store.forward(50 * LEASE)

        call(queue, verb, handout.job, handout.token, box_1)

    @pytest.mark.parametrize("verb", ["renew", "progress", "attach"])
    def test_any_call_of_the_holder_marks_the_delivery_heard(self, queue, lane, box_1, verb):
        queue.submit(lane)
        handout = claimed(queue, box_1)
        call(queue, verb, handout.job, handout.token, box_1)

        assert queue.job(handout.job).heard

    def test_a_call_that_was_gated_and_then_refused_was_heard_all_the_same(self, queue, lane, box_1):
        """Seed 000: anything you did answer against, even once, counts."""
        for _ in range(3):
            queue.submit(lane)
        attaching, forwarding, reporting = (claimed(queue, box_1) for _ in range(3))
        progress(queue, forwarding, "outside-1")
        release(queue, forwarding)
        forwarding = claimed(queue, box_1)
        with refused("job.admitted"):
            progress(queue, forwarding, "outside-2")
        with refused("result.verdict.missing"):
            report(queue, reporting, verdict=" ")
        queue.attach(attaching.job, attaching.token, box_1, name="log")
        with refused("attempt.file.duplicate"):
            queue.attach(attaching.job, attaching.token, box_1, name="log")

        assert all(queue.job(handout.job).heard for handout in (attaching, forwarding, reporting))

    def test_each_delivery_has_to_be_heard_for_itself(self, queue, lane, box_1):
        receipt = queue.submit(lane)
        handout = claimed(queue, box_1)
        renew(queue, handout)
        release(queue, handout)
        claimed(queue, box_1)

        assert not queue.job(receipt.job).heard

    @pytest.mark.parametrize(
        ("after", "asked", "moves_to"), [(0, 60, 600), (0, 3600, 3600), (0, 599, 600), (300, 300, 600), (301, 300, 601)]
    )
    def test_a_renewal_keeps_the_later_deadline(self, store, queue, lane, box_1, after, asked, moves_to):
        queue.submit(lane)
        handout = claimed(queue, box_1)
        began = handout.until - LEASE
        store.forward(after)
        until = renew(queue, handout, asked)

        assert moves_to <= until - began <= moves_to + 0.9
        assert queue.job(handout.job).until == until

    @pytest.mark.parametrize(("asked", "granted"), [(None, 120), (-1, 60), (59, 60), (3601, 3600)])
    def test_a_renewal_is_clamped_and_without_a_length_by_the_granted_lease(self, store, queue, box_1, asked, granted):
        queue.submit(store.lane(timeout=10_000))
        handout = claimed(queue, box_1, lease_seconds=120)
        store.forward(1000)
        until = renew(queue, handout, asked)

        assert granted - 1 <= until - store.now() <= granted

    def test_progress_extends_by_the_granted_lease_and_never_shortens(self, store, queue, lane, box_1):
        queue.submit(lane)
        handout = claimed(queue, box_1, lease_seconds=120)
        store.forward(100)
        progress(queue, handout)
        assert 119 <= queue.job(handout.job).until - store.now() <= 120
        renew(queue, handout, 3600)
        progress(queue, handout)

        assert queue.job(handout.job).until - store.now() > 3500

    def test_no_renewal_leads_beyond_the_problems_time_and_a_minute_of_grace(self, store, queue, box_1, box_2):
        """A run that never ends is not held for ever either (channel-protocol §4)."""
        queue.submit(store.lane(timeout=900))
        handout = claimed(queue, box_1)
        began = handout.until - LEASE
        assert 960 <= renew(queue, handout, 3600) - began <= 960.9
        store.forward(900)
        progress(queue, handout)
        assert queue.job(handout.job).until - began <= 960.9
        store.forward(60)

        assert claimed(queue, box_2).job == handout.job

    def test_a_first_lease_that_is_longer_than_the_problems_time_is_not_shortened(self, store, queue, box_1):
        queue.submit(store.lane(timeout=10))
        handout = claimed(queue, box_1)

        assert renew(queue, handout, 3600) == handout.until

    def test_a_renewed_lease_is_not_taken_at_its_first_deadline(self, store, queue, lane, box_1, box_2):
        queue.submit(lane)
        handout = claimed(queue, box_1)
        store.forward(LEASE - 100)
        renew(queue, handout)
        store.forward(LEASE - 1)

        assert queue.sweep().lapsed == 0
        assert queue.claim(box_2) is None
        store.forward(1)
        assert queue.claim(box_2) is not None

    def test_a_role_is_taken_once_a_delivery_and_free_on_the_next(self, queue, lane, box_1):
        queue.submit(lane)
        first = claimed(queue, box_1)
        queue.attach(first.job, first.token, box_1, name="log")
        with refused("attempt.file.duplicate"):
            queue.attach(first.job, first.token, box_1, name="log")
        queue.attach(first.job, first.token, box_1, name="details")
        release(queue, first)
        second = claimed(queue, box_1)

        queue.attach(second.job, second.token, box_1, name="log")
