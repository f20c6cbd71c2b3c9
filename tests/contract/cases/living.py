"""A run on the channel while it goes on: heartbeats against its lease, its hard limit, its next connection (seed 001).

Authority: channel-protocol §4 and §7. Margins leave room for a second in which the store's own clock goes on.
"""

from __future__ import annotations

import pytest

from tests.contract.cases.base import Case, at_once, broken, claimed, code_of, refused, release, renew, report
from tests.contract.channel import GRACE, HEARTBEAT, LEASE, ChannelClient
from tests.contract.interface import Handout, Id, Job, Store

TIMEOUT = 300
LIMIT = TIMEOUT + GRACE


def on_channel(queue: ChannelClient, runner: Id) -> Handout:
    """A job that this runner must get on the channel now."""
    handout = queue.claim_on_channel(runner)
    assert handout is not None, "there was nothing to claim"
    return handout


def running(queue: ChannelClient, runner: Id) -> Handout:
    """The same, and it runs."""
    handout = on_channel(queue, runner)
    assert queue.start(handout.job, handout.token) == "ack"
    return handout


def beaten(store: Store, queue: ChannelClient, handout: Handout, seconds: int) -> None:
    """So much time goes by with heartbeats all along."""
    for _ in range(0, seconds, 60):
        store.forward(min(60, seconds))
        assert queue.beat(handout.job, handout.token) == "ack"
    assert seconds % 60 == 0


def left(store: Store, queue: ChannelClient, handout: Handout) -> float:
    """Seconds of its lease."""
    until = queue.job(handout.job).until
    assert until is not None
    return until - store.now()


class Channel(Case):
    """What every case of the second part begins with."""

    @pytest.fixture
    def lane(self, store: Store) -> Id:
        return store.lane(timeout=TIMEOUT)

    @pytest.fixture
    def last_chance(self, store: Store) -> Id:
        """A lane whose jobs are handed out once: who loses one fails it."""
        return store.lane(cap=1, timeout=TIMEOUT)


class Beating(Channel):
    """The lease is the heartbeat timeout and a write interval; a healthy runner never loses it."""

    def test_a_claim_on_the_channel_is_by_the_rules_of_every_claim(self, store, queue, lane, box_1):
        assert queue.claim_on_channel(box_1) is None
        with refused("runner.notApproved"):
            queue.claim_on_channel(store.runner(approved=False))
        older, newer = queue.submit(lane), queue.submit(lane)
        assert [on_channel(queue, box_1).job, claimed(queue, box_1).job] == [older.job, newer.job]
        assert [queue.run(job).channel for job in (older.job, newer.job)] == [True, False]

    def test_its_lease_lasts_for_a_heartbeat_timeout_and_a_write_interval(self, store, queue, lane, box_1):
        queue.submit(lane)
        handout = on_channel(queue, box_1)

        assert (handout.granted, queue.job(handout.job).heard) == (LEASE, False)
        assert LEASE - 1 <= left(store, queue, handout) <= LEASE

    def test_the_run_begins_once(self, store, queue, lane, box_1):
        queue.submit(lane)
        handout = on_channel(queue, box_1)
        assert not queue.run(handout.job).began
        assert queue.start(handout.job, handout.token) == "ack"
        store.forward(60)
        assert queue.start(handout.job, handout.token) == "ack"

        assert queue.run(handout.job).began
        assert queue.job(handout.job).heard
        assert LEASE - 1 <= left(store, queue, handout) <= LEASE

    def test_a_heartbeat_of_a_claimed_job_begins_nothing(self, queue, lane, box_1):
        queue.submit(lane)
        handout = on_channel(queue, box_1)

        assert queue.beat(handout.job, handout.token) == "ack"
        assert (queue.run(handout.job).began, queue.job(handout.job).heard) == (False, True)

    def test_the_deadline_is_written_every_ten_seconds_at_most_and_never_shortened(self, store, queue, lane, box_1):
        queue.submit(lane)
        handout = running(queue, box_1)
        first = queue.job(handout.job).until
        store.forward(5)
        assert queue.beat(handout.job, handout.token) == "ack"
        assert queue.job(handout.job).until == first
        store.forward(6)
        assert queue.beat(handout.job, handout.token) == "ack"
        assert LEASE - 1 <= left(store, queue, handout) <= LEASE
        renew(queue, handout, 3600)
        later = queue.job(handout.job).until
        assert queue.beat(handout.job, handout.token) == "ack"
        assert queue.job(handout.job).until == later

    def test_a_runner_that_beats_keeps_its_job_and_one_that_stops_loses_it(self, store, queue, lane, box_1, box_2):
        queue.submit(lane)
        handout = running(queue, box_1)
        beaten(store, queue, handout, 240)
        assert (queue.sweep().lapsed, queue.claim_on_channel(box_2)) == (0, None)
        store.forward(LEASE)

        assert on_channel(queue, box_2).job == handout.job
        assert queue.beat(handout.job, handout.token) == "cancel"

    def test_a_lapsed_run_that_nobody_took_goes_on_with_its_next_heartbeat(self, store, queue, lane, box_1):
        queue.submit(lane)
        handout = running(queue, box_1)
        store.forward(2 * LEASE)

        assert queue.beat(handout.job, handout.token) == "ack"
        assert queue.sweep().lapsed == 0

    @pytest.mark.parametrize("first", ["beat", "cancel"])
    def test_a_heartbeat_that_meets_a_cancellation_hears_of_it_then_or_with_the_next(self, store, queue, lane, box_1, first):
        queue.submit(lane)
        handout = running(queue, box_1)
        store.forward(60)
        acts = [lambda client: client.beat(handout.job, handout.token), lambda client: client.cancel(handout.job)]

        answers = store.in_order(handout.job, *(acts if first == "beat" else acts[::-1]))

        assert answers == (["ack", None] if first == "beat" else [None, "cancel"])
        assert queue.job(handout.job).state == "cancelled"
        assert queue.beat(handout.job, handout.token) == "cancel"

    def test_heartbeats_and_a_sweep_at_the_moment_of_the_deadline_leave_it_with_one(self, store, queue, lane, box_1):
        queue.submit(lane)
        handout = running(queue, box_1)
        store.forward(LEASE)
        beats = [lambda client: client.beat(handout.job, handout.token)] * 4

        answers = at_once(store, *beats, lambda client: client.sweep())

        lost = answers[-1].lapsed == 1
        assert queue.job(handout.job).state == ("queued" if lost else "running")
        assert queue.beat(handout.job, handout.token) == ("cancel" if lost else "ack")

    @pytest.mark.parametrize("verb", ["start", "beat", "take_up"])
    def test_a_token_of_a_claim_that_was_not_on_the_channel_is_nobodys_here(self, store, queue, lane, box_1, verb):
        queue.submit(lane)
        handout = claimed(queue, box_1, lease_seconds=60)
        before = queue.job(handout.job)
        assert getattr(queue, verb)(handout.job, handout.token) == "cancel"
        store.forward(60)
        assert queue.lose(handout.job, handout.token) == "heartbeat_timeout"

        assert queue.job(handout.job) == before

    def test_who_speaks_of_what_is_not_theirs_is_told_to_stop_and_changes_nothing(self, store, queue, lane, box_1):
        waiting = queue.submit(lane).job
        handout = running(queue, box_1)
        before = queue.job(handout.job)

        for job, token in [(store.unknown(), handout.token), (handout.job, store.unknown())]:
            assert [queue.start(job, token), queue.beat(job, token), queue.take_up(job, token)] == ["cancel"] * 3
            assert queue.lose(job, token) == "heartbeat_timeout"
        assert (handout.job, queue.job(handout.job)) == (waiting, before)


class Resuming(Channel):
    """Nothing lives in memory: reconnect and resume before the deadline, and the job goes on."""

    def test_a_run_that_is_taken_up_has_a_whole_lease_at_once(self, store, queue, lane, box_1):
        queue.submit(lane)
        handout = running(queue, box_1)
        store.forward(5)

        assert queue.take_up(handout.job, handout.token) == "ack"
        assert LEASE - 1 <= left(store, queue, handout) <= LEASE

    def test_the_silence_of_an_older_connection_means_nothing_then(self, store, queue, lane, box_1):
        queue.submit(lane)
        handout = running(queue, box_1)
        store.forward(HEARTBEAT)
        assert queue.take_up(handout.job, handout.token) == "ack"

        assert queue.lose(handout.job, handout.token) == "heartbeat_timeout"
        assert queue.job(handout.job).state == "running"

    def test_a_run_outlives_every_process(self, store, queue, lane, box_1):
        queue.submit(lane)
        handout = running(queue, box_1)
        store.reopen()

        assert queue.take_up(handout.job, handout.token) == "ack"
        assert queue.run(handout.job).began
        assert queue.finish(handout.job, box_1, None) is not None

    def test_what_was_taken_away_meanwhile_is_not_taken_up(self, store, queue, lane, box_1, box_2):
        queue.submit(lane)
        handout = running(queue, box_1)
        store.forward(LEASE)
        fresh = running(queue, box_2)

        assert queue.take_up(handout.job, handout.token) == "cancel"
        assert queue.job(handout.job).token == fresh.token


class Limited(Channel):
    """Elapsed since `running`, whole seconds, strictly greater: cancelled, whatever the runner says."""

    def over(self, store, queue, box) -> Handout:
        """A run that was heard of all along and is over its limit."""
        handout = running(queue, box)
        beaten(store, queue, handout, LIMIT)
        store.forward(2)
        return handout

    @pytest.mark.parametrize("message", ["start", "beat", "take_up", "finish", "fail", "abandon", "lose", "sweep"])
    def test_every_message_finds_a_run_over_its_limit_cancelled(self, store, queue, lane, box_1, message):
        queue.submit(lane)
        handout = self.over(store, queue, box_1)
        ids = handout.job, handout.token
        whose = handout.job, box_1, handout.token
        if message == "lose":
            store.forward(HEARTBEAT)
        said = {
            "finish": lambda: queue.finish(*whose, in_course=True),
            "fail": lambda: queue.fail(*whose, error="no disk"),
            "abandon": lambda: queue.abandon(*whose),
            "sweep": lambda: queue.sweep().lapsed,
        }.get(message, lambda: getattr(queue, message)(*ids))()

        expected = {"finish": None, "fail": None, "abandon": None, "lose": "job_timeout_exceeded", "sweep": 1}.get(message, "cancel")
        assert said == expected
        assert (queue.job(handout.job).state, queue.run(handout.job).kept) == ("cancelled", "")
        assert queue.beat(*ids) == "cancel"

    def test_at_its_limit_to_the_second_it_goes_on(self, store, queue, lane, box_1):
        queue.submit(lane)
        handout = running(queue, box_1)
        beaten(store, queue, handout, LIMIT)

        assert queue.sweep().lapsed == 0
        assert queue.finish(handout.job, box_1, handout.token, in_course=True) is not None

    def test_the_limit_counts_from_the_beginning_and_not_from_the_claim(self, store, queue, lane, box_1):
        queue.submit(lane)
        handout = on_channel(queue, box_1)
        beaten(store, queue, handout, 120)
        queue.start(handout.job, handout.token)
        beaten(store, queue, handout, LIMIT - 60)

        assert queue.sweep().lapsed == 0
        assert queue.job(handout.job).state == "running"

    def test_one_that_never_says_that_it_began_is_not_waited_for_longer_than_a_run(self, store, queue, lane, box_1, box_2):
        """No renewal extends past the limit (channel-protocol §4)."""
        queue.submit(lane)
        handout = on_channel(queue, box_1)
        beaten(store, queue, handout, LIMIT - 60)
        store.forward(61)

        assert on_channel(queue, box_2).job == handout.job

    def test_a_run_that_begins_late_has_a_whole_lease_and_its_whole_time(self, store, queue, lane, box_1):
        queue.submit(lane)
        handout = on_channel(queue, box_1)
        store.forward(2 * LIMIT)
        assert queue.start(handout.job, handout.token) == "ack"
        assert LEASE - 1 <= left(store, queue, handout) <= LEASE
        beaten(store, queue, handout, LIMIT)

        assert queue.job(handout.job).state == "running"

    def test_contact_that_was_lost_before_the_limit_makes_it_lost_however_late_the_sweep(self, store, queue, last_chance, box_1):
        queue.submit(last_chance)
        handout = running(queue, box_1)
        store.forward(LIMIT + 60)
        queue.sweep()

        assert (queue.job(handout.job).state, queue.run(handout.job).lost) == ("failed", handout.token)
        assert queue.finish(handout.job, box_1, None) is not None

    def test_a_message_over_the_limit_of_a_run_that_was_lost_before_finds_it_lost(self, store, queue, last_chance, box_1):
        queue.submit(last_chance)
        handout = running(queue, box_1)
        store.forward(LIMIT + 60)

        assert queue.beat(handout.job, handout.token) == "ack"
        assert queue.run(handout.job).lost == handout.token


class Silent(Channel):
    """Connected and silent, or not connected: lost. Only the last delivery's loss fails a job."""

    def gone(self, store, queue, handout, *, how: str) -> Job:
        store.forward(HEARTBEAT + 1 if how == "silent" else LEASE)
        if how == "silent":
            assert queue.lose(handout.job, handout.token) == "heartbeat_timeout"
        else:
            assert queue.sweep().lapsed == 1
        return queue.job(handout.job)

    @pytest.mark.parametrize("how", ["silent", "lapsed"])
    def test_a_lost_run_with_hand_outs_left_goes_back_counted(self, store, queue, lane, box_1, how):
        queue.submit(lane)
        job = self.gone(store, queue, running(queue, box_1), how=how)

        assert (job.state, job.deliveries, job.refunds, queue.run(job.id).lost) == ("queued", 1, 0, None)

    @pytest.mark.parametrize("how", ["silent", "lapsed"])
    def test_at_its_cap_it_fails_and_says_so(self, store, queue, last_chance, box_1, how):
        queue.submit(last_chance)
        handout = running(queue, box_1)
        job = self.gone(store, queue, handout, how=how)

        assert (job.state, queue.run(job.id).lost) == ("failed", handout.token)
        assert "contact" in job.reason.lower()
        assert queue.beat(handout.job, handout.token) == "ack"

    def test_a_hand_out_that_was_never_heard_of_is_given_back(self, store, queue, last_chance, box_1):
        queue.submit(last_chance)
        job = self.gone(store, queue, on_channel(queue, box_1), how="lapsed")

        assert (job.state, job.deliveries, job.refunds) == ("queued", 0, 1)

    def test_whoever_spoke_within_the_timeout_is_not_lost(self, store, queue, lane, box_1):
        queue.submit(lane)
        handout = running(queue, box_1)
        store.forward(60)

        assert queue.lose(handout.job, handout.token) == "heartbeat_timeout"
        assert queue.job(handout.job).state == "running"

    @pytest.mark.parametrize("end", ["released", "broken", "given back"])
    def test_a_failure_that_was_no_loss_of_contact_is_final(self, store, queue, last_chance, box_1, end):
        queue.submit(last_chance)
        for _ in range(4 if end == "released" else 1):
            handout = running(queue, box_1)
            {"released": release, "broken": broken, "given back": lambda queue, held: queue.give_back(held.job)}[end](queue, handout)
        queue.claim_on_channel(box_1)

        assert (queue.job(handout.job).state, queue.run(handout.job).lost) == ("failed", None)
        assert queue.finish(handout.job, box_1, handout.token) is None

    def test_a_report_takes_the_place_of_an_outcome_and_a_lost_holder_has_none(self, store, queue, last_chance, box_1):
        """One judging code serves both transports (channel-protocol §2)."""
        queue.submit(last_chance)
        reported = running(queue, box_1)
        assert report(queue, reported).state == "completed"
        queue.submit(last_chance)
        lost = running(queue, box_1)
        self.gone(store, queue, lost, how="silent")

        assert code_of(lambda: report(queue, lost)) == "runner.lease.stale"
        assert queue.finish(reported.job, box_1, reported.token) is None
