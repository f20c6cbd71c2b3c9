"""How a run on the channel ends by its runner's word: outcomes, failures, and whatever comes too late (seed 001).

Authority: channel-protocol §4, the table of stored states, and §7.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from tests.contract.cases.base import at_once, code_of, codes, refused, report
from tests.contract.cases.holding import met
from tests.contract.cases.living import LIMIT, Channel, on_channel, running
from tests.contract.channel import LEASE, ChannelClient, Run
from tests.contract.interface import Handout, Id, Job, Store

STATES = ["claimed", "running", "completed", "processed", "lost", "failed", "requeued", "handed on", "canceled", "deleted"]
CANCEL = {"requeued", "handed on", "canceled", "deleted"}
"""In these stored states a sign of life is answered by `cancel`."""
LEFT = {"claimed": "running", "completed": "running", "processed": "completed", "lost": "failed", "requeued": "queued"}
LEFT |= {"handed on": "running", "canceled": "cancelled", "deleted": "cancelled"}


def brought(store: Store, queue: ChannelClient, box: Id, state: str) -> Handout:
    """A run of this box, at its last hand-out, whose job is stored in this state."""
    receipt = queue.submit(store.lane(cap=5 if state in {"requeued", "handed on"} else 1))
    held = on_channel(queue, box) if state == "claimed" else running(queue, box)
    if state in {"completed", "processed"}:
        outcome = finished(queue, held)
        if state == "processed":
            assert queue.process(outcome)
    elif state in {"lost", "requeued", "handed on"}:
        store.forward(LEASE)
        queue.sweep()
        if state == "handed on":
            on_channel(queue, store.runner())
    elif state == "failed":
        queue.fail(held.job, box, held.token, error="no disk")
    elif state == "canceled":
        queue.cancel(held.job)
    elif state == "deleted":
        queue.delete(receipt.submission)
    assert queue.job(held.job).state == LEFT.get(state, state)
    return held


def finished(queue: ChannelClient, held: Handout, *, verdict: str | None = "Accepted") -> Id:
    """The outcome of a run that must be taken."""
    outcome = queue.finish(held.job, held.runner, held.token, verdict=verdict, in_course=True)
    assert outcome is not None
    return outcome


def late(queue: ChannelClient, held: Handout) -> Id:
    """The outcome of a run that comes over a connection that was not given the job, and must be taken."""
    outcome = queue.finish(held.job, held.runner, None)
    assert outcome is not None
    return outcome


def stands(queue: ChannelClient, job: Id) -> tuple[Job, Run]:
    """A job in the words of both parts."""
    return queue.job(job), queue.run(job)


class Ending(Channel):
    """The table of stored states, cell by cell, for who executes and for who connects again."""

    @pytest.mark.parametrize("verb", ["start", "beat"])
    @pytest.mark.parametrize("state", STATES)
    def test_a_sign_of_life_changes_only_what_is_held(self, store, queue, box_1, state, verb):
        held = brought(store, queue, box_1, state)
        before = stands(queue, held.job)

        assert getattr(queue, verb)(held.job, held.token) == ("cancel" if state in CANCEL else "ack")
        if state not in {"claimed", "running"}:
            assert stands(queue, held.job) == before

    @pytest.mark.parametrize("given", [True, False])
    @pytest.mark.parametrize("state", STATES)
    def test_completed_is_taken_from_the_holder_and_from_who_was_lost(self, store, queue, box_1, state, given):
        held = brought(store, queue, box_1, state)
        before = stands(queue, held.job)
        outcome = queue.finish(held.job, box_1, held.token if given else None)

        if state in {"claimed", "running", "lost"}:
            assert queue.run(held.job).outcome == outcome
            assert queue.process(outcome)
            assert (queue.job(held.job).state, queue.job(held.job).verdict) == ("completed", "Accepted")
        else:
            assert outcome is None
            assert stands(queue, held.job) == before

    @pytest.mark.parametrize("given", [True, False])
    @pytest.mark.parametrize("state", STATES)
    def test_failed_ends_what_is_held_and_leaves_its_words_where_contact_was_lost(self, store, queue, box_1, state, given):
        held = brought(store, queue, box_1, state)
        before = stands(queue, held.job)
        queue.fail(held.job, box_1, held.token if given else None, error="out of paper")

        job, run = stands(queue, held.job)
        if state in {"claimed", "running"}:
            assert (job.state, job.reason, run.kept, run.lost) == ("failed", "out of paper", "out of paper", None)
        elif state == "lost":
            assert (job, run.kept, run.lost) == (before[0], "out of paper", held.token)
        else:
            assert (job, run) == before

    @pytest.mark.parametrize("given", [True, False])
    @pytest.mark.parametrize("state", STATES)
    def test_canceled_ends_only_what_is_held(self, store, queue, box_1, state, given):
        held = brought(store, queue, box_1, state)
        before = stands(queue, held.job)
        queue.abandon(held.job, box_1, held.token if given else None)

        if state in {"claimed", "running"}:
            assert queue.job(held.job).state == "cancelled"
        else:
            assert stands(queue, held.job) == before

    def test_completing_in_its_course_what_never_began_is_refused_and_taken_when_it_is_resent(self, queue, lane, box_1):
        queue.submit(lane)
        held = on_channel(queue, box_1)
        with refused("channel.notStarted"):
            queue.finish(held.job, box_1, held.token, in_course=True)
        assert queue.run(held.job).outcome is None

        assert queue.process(late(queue, held))

    @pytest.mark.parametrize("state", ["running", "lost"])
    def test_nobody_ends_a_run_with_the_token_of_another(self, store, queue, box_1, box_2, state):
        held = brought(store, queue, box_1, state)
        before = stands(queue, held.job)

        for token in (held.token, None):
            assert queue.finish(held.job, box_2, token) is None
            queue.fail(held.job, box_2, token, error="no disk")
            queue.abandon(held.job, box_2, token)
        assert stands(queue, held.job) == before

    def test_a_message_from_a_connection_without_the_job_is_of_the_last_delivery(self, store, queue, lane, box_1):
        queue.submit(lane)
        first = running(queue, box_1)
        store.forward(LEASE)
        second = running(queue, box_1)
        assert queue.finish(first.job, box_1, first.token) is None
        queue.fail(first.job, box_1, first.token, error="no disk")
        assert queue.job(first.job).token == second.token

        assert queue.process(late(queue, second))

    def test_a_job_or_an_outcome_nobody_issued_is_dropped(self, store, queue, box_1):
        unknown = store.unknown()

        for token in (None, store.unknown()):
            assert queue.finish(unknown, box_1, token) is None
            queue.fail(unknown, box_1, token, error="no disk")
            queue.abandon(unknown, box_1, token)
        assert queue.process(unknown) is False


class Processing(Channel):
    """Stored before its acknowledgement, processed after it, by whoever comes, once."""

    def test_an_outcome_is_durable_before_it_is_processed(self, store, queue, lane, box_1):
        queue.submit(lane)
        held = running(queue, box_1)
        outcome = finished(queue, held)
        store.reopen()
        assert (queue.run(held.job).outcome, queue.job(held.job).state) == (outcome, "running")
        store.forward(60)

        assert queue.sweep().processed == 1
        assert (queue.job(held.job).state, queue.job(held.job).verdict) == ("completed", "Accepted")

    def test_completed_that_is_resent_because_its_ack_was_lost_is_one_outcome(self, store, queue, lane, box_1):
        queue.submit(lane)
        held = running(queue, box_1)
        outcome = finished(queue, held)
        store.reopen()
        assert queue.finish(held.job, box_1, None, verdict="Wrong answer") is None
        assert queue.process(outcome)
        assert queue.finish(held.job, box_1, None, verdict="Wrong answer") is None

        assert (queue.job(held.job).verdict, queue.run(held.job).kept) == ("Accepted", "Accepted")

    @pytest.mark.parametrize("state", ["running", "lost"])
    def test_completed_sent_many_times_at_once_is_one_outcome_and_one_result(self, store, queue, box_1, state):
        held = brought(store, queue, box_1, state)
        outcomes = at_once(store, *[lambda client: client.finish(held.job, box_1, None)] * 6)
        taken = [outcome for outcome in outcomes if outcome is not None]
        assert len(taken) == 1

        assert sum(at_once(store, *[lambda client: client.process(taken[0])] * 6)) == 1
        assert queue.job(held.job).state == "completed"

    def test_what_has_arrived_is_not_taken_away_by_anybody(self, store, queue, lane, box_1, box_2):
        queue.submit(lane)
        held = running(queue, box_1)
        outcome = finished(queue, held)
        assert [code_of(partial(verb, held.job)) for verb in (queue.cancel, queue.give_back)] == ["job.state"] * 2
        assert set(met(queue, held.job, held.token, box_1).values()) == {"job.state"}
        queue.undo_handout(held.job, held.token)
        assert queue.revoke(box_1) == []
        store.forward(2 * LEASE)
        assert queue.lose(held.job, held.token) == "heartbeat_timeout"
        assert queue.claim_on_channel(box_2) is None
        assert queue.beat(held.job, held.token) == "ack"

        assert queue.run(held.job).outcome == outcome
        assert queue.sweep().processed == 1
        assert queue.job(held.job).state == "completed"

    def test_an_outcome_that_waits_for_longer_than_a_run_may_take_is_not_over_its_limit(self, store, queue, lane, box_1):
        queue.submit(lane)
        held = running(queue, box_1)
        outcome = finished(queue, held)
        store.forward(2 * LIMIT)
        queue.abandon(held.job, box_1, None)
        assert (queue.finish(held.job, box_1, None), queue.beat(held.job, held.token)) == (None, "ack")

        assert queue.process(outcome)

    @pytest.mark.parametrize("verdict", [None, " ", "x" * 65])
    @pytest.mark.parametrize("state", ["running", "lost"])
    def test_an_outcome_that_makes_no_result_fails_the_job_for_good(self, store, queue, box_1, state, verdict):
        held = brought(store, queue, box_1, state)
        outcome = queue.finish(held.job, box_1, None, verdict=verdict)
        assert queue.process(outcome)
        assert not queue.process(outcome)
        job, run = stands(queue, held.job)
        assert (job.state, job.verdict, run.outcome, run.lost) == ("failed", None, None, None)

        assert queue.finish(held.job, box_1, None) is None

    def test_a_result_from_the_channel_answers_a_report_under_its_token(self, queue, lane, box_1):
        """One result a lease (seed 000), whichever way it came."""
        queue.submit(lane)
        held = running(queue, box_1)
        queue.process(finished(queue, held))

        assert report(queue, held).duplicate

    def test_what_waits_behind_a_run_goes_on_when_its_outcome_is_processed(self, queue, lane, box_1, box_2):
        receipt = queue.submit(lane)
        held = running(queue, box_1)
        second = queue.rejudge(receipt.submission)
        outcome = finished(queue, held)
        assert queue.claim(box_2) is None
        queue.process(outcome)

        assert on_channel(queue, box_2).job == second


class Overriding(Channel):
    """A completed that comes late over a failure for lost contact (seed 001)."""

    def test_the_real_result_overrides_the_failure(self, store, queue, box_1):
        held = brought(store, queue, box_1, "lost")
        outcome = late(queue, held)
        assert queue.job(held.job).state == "failed"
        assert queue.process(outcome)

        job, run = stands(queue, held.job)
        assert (job.state, job.verdict, job.reason, run.lost) == ("completed", "Accepted", "", None)

    def test_words_that_came_before_do_not_keep_the_result_out(self, store, queue, box_1):
        held = brought(store, queue, box_1, "lost")
        queue.fail(held.job, box_1, None, error="first")
        queue.fail(held.job, box_1, None, error="second")
        assert queue.run(held.job).kept == "first"

        assert queue.process(late(queue, held))
        assert (queue.job(held.job).state, queue.run(held.job).kept) == ("completed", "Accepted")

    def test_only_the_delivery_that_was_lost_at_the_cap_may(self, store, queue, box_1, box_2):
        queue.submit(store.lane(cap=2))
        first = running(queue, box_1)
        store.forward(LEASE)
        second = running(queue, box_2)
        store.forward(LEASE)
        queue.sweep()
        assert queue.job(first.job).state == "failed"
        assert queue.finish(first.job, box_1, first.token) is None
        assert queue.finish(first.job, box_1, None) is None

        assert queue.process(late(queue, second))

    def test_a_failure_stays_when_its_submission_was_deleted(self, store, queue, box_1):
        held = brought(store, queue, box_1, "lost")
        queue.delete(queue.job(held.job).submission)

        assert queue.finish(held.job, box_1, None) is None
        assert queue.job(held.job).state == "failed"

    @pytest.mark.parametrize("state", ["running", "lost"])
    def test_an_outcome_whose_submission_was_deleted_before_it_was_processed_makes_no_result(self, store, queue, box_1, state):
        held = brought(store, queue, box_1, state)
        outcome = late(queue, held)
        queue.delete(queue.job(held.job).submission)
        queue.process(outcome)

        job, run = stands(queue, held.job)
        assert (job.state, job.verdict, run.outcome) == ("cancelled" if state == "running" else "failed", None, None)
        assert not queue.process(outcome)

    @pytest.mark.parametrize("first", ["cancel", "completed"])
    def test_a_cancellation_that_meets_completed_is_decided_by_the_first(self, store, queue, lane, box_1, first):
        queue.submit(lane)
        held = running(queue, box_1)
        acts = [lambda client: client.cancel(held.job), lambda client: client.finish(held.job, box_1, held.token, in_course=True)]

        answers = store.in_order(held.job, *(acts if first == "cancel" else acts[::-1]))

        assert codes(answers) == ([""] * 2 if first == "cancel" else ["", "job.state"])
        if first == "cancel":
            assert answers[1] is None
            assert queue.job(held.job).state == "cancelled"
        else:
            assert queue.process(answers[0])
            assert queue.job(held.job).state == "completed"

    def test_completed_and_a_sweep_at_the_moment_of_the_deadline_never_lose_the_outcome(self, store, queue, last_chance, box_1):
        queue.submit(last_chance)
        held = running(queue, box_1)
        store.forward(LEASE)

        acts: list[Any] = [lambda client: client.finish(held.job, box_1, held.token, in_course=True), lambda client: client.sweep()]
        outcome, _ = at_once(store, *acts)

        assert outcome is not None
        assert queue.process(outcome)
        assert queue.job(held.job).state == "completed"
