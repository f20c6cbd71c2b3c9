"""The verbs of the runner channel, from seed 001 and channel-protocol §4 and §7 alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.contract.channel import Heard, Run, Silence
from tests.contract.interface import Handout, Id
from tests.contract.model.holders import Holders
from tests.contract.model.things import Entry, Lease, Outcome, refuse

if TYPE_CHECKING:
    from tests.contract.model.store import Model

HEARTBEAT = 90
WRITTEN_EVERY = min(10, HEARTBEAT // 4)
CHANNEL_LEASE = HEARTBEAT + WRITTEN_EVERY
"""Heartbeat timeout and write interval (channel-protocol §7)."""


class Channel(Holders):
    """The part of a client that a store without a channel has not."""

    store: Model

    def claim_on_channel(self, runner) -> Handout | None:
        return self._claim(runner, CHANNEL_LEASE, channel=True)

    def start(self, job, token) -> Heard:
        return self._hear(job, token, self._begin)

    def beat(self, job, token) -> Heard:
        return self._hear(job, token, self._refresh)

    def take_up(self, job, token) -> Heard:
        return self._hear(job, token, self._extend)

    def _hear(self, job: Id, token: Id, note: Callable[[Entry, Lease], None]) -> Heard:
        """Both columns of the table in one: what the holder changes, and what anybody is answered by what is stored."""
        with self.store.lock:
            row = self.store.jobs.get(job)
            if row is None:
                return "cancel"
            if row.in_hand(token) and row.lease and not self.store.end_over_limit(row):
                row.lease.heard = True
                note(row, row.lease)
            return "ack" if row.held_on_channel(token) or row.state in {"completed", "failed"} else "cancel"

    def _begin(self, row: Entry, lease: Lease) -> None:
        """From here on the limit is "elapsed since `running`", however late that comes (channel-protocol §4)."""
        if lease.began is not None:
            self._refresh(row, lease)
            return
        lease.began = self.store.clock
        self._extend(row, lease)

    def _refresh(self, row: Entry, lease: Lease) -> None:
        """The deadline is written every ten seconds at most."""
        if lease.until - self.store.clock <= CHANNEL_LEASE - WRITTEN_EVERY:
            self._extend(row, lease)

    def _extend(self, row: Entry, lease: Lease) -> None:
        """Never shortened. The hard limit of a run is for the clock to apply; before it began, no renewal extends past it."""
        asked = self.store.clock + CHANNEL_LEASE
        if lease.began is None and asked >= lease.latest > lease.until:
            lease.until, lease.moved = lease.latest, lease.claimed
        elif asked > lease.until and (lease.began is not None or asked < lease.latest):
            lease.until, lease.moved = asked, self.store.number()

    def lose(self, job, token) -> Silence:
        with self.store.lock:
            row = self.store.jobs.get(job)
            if row is None or row.lease is None or not row.in_hand(token):
                return "heartbeat_timeout"
            if row.lease.until - self.store.clock > CHANNEL_LEASE - HEARTBEAT:
                return "heartbeat_timeout"
            if self.store.end_over_limit(row):
                return "job_timeout_exceeded" if row.state == "cancelled" else "heartbeat_timeout"
            self.store.lose_contact(row)
            return "heartbeat_timeout"

    def _word(self, job: Id, runner: Id, token: Id | None) -> tuple[Entry, Id] | None:
        """The job that a terminal message is about and the delivery it comes from, if it was ever this runner's."""
        row = self.store.jobs.get(job)
        given = [of for by, of in row.hands if by == runner and token in {None, of}] if row else []
        if row is None or not given:
            return None
        if row.in_hand(given[-1]):
            self.store.end_over_limit(row)
        return row, given[-1]

    def finish(self, job, runner, token, *, verdict="Accepted", in_course=False) -> Id | None:
        with self.store.lock:
            row, of = self._word(job, runner, token) or (None, None)
            if row is None or of is None:
                return None
            if row.in_hand(of) and row.lease:
                if in_course and row.lease.began is None:
                    refuse("channel.notStarted")
                row.lease.heard = True
            elif not row.may_override(of) or self.store.submissions[row.submission].deleted:
                return None
            row.outcome, row.kept = self.store.new("outcome"), verdict or ""
            self.store.outcomes[row.outcome] = Outcome(row, of, runner, verdict, self.store.clock)
            return row.outcome

    def fail(self, job, runner, token, *, error) -> None:
        with self.store.lock:
            row, of = self._word(job, runner, token) or (None, None)
            if row is None or of is None:
                return
            if row.in_hand(of):
                row.kept = error
                row.end("failed", error)
            elif row.may_override(of) and not row.kept:
                row.kept = error

    def abandon(self, job, runner, token) -> None:
        with self.store.lock:
            row, of = self._word(job, runner, token) or (None, None)
            if row is not None and of is not None and row.in_hand(of):
                row.end("cancelled", "cancelled by the runner")

    def process(self, outcome) -> bool:
        with self.store.lock:
            return self.store.process(outcome)

    def run(self, job) -> Run:
        with self.store.lock:
            row = self.store.jobs.get(job) or refuse("not_found")
            on_channel = row.lease is not None and row.lease.channel
            began = row.lease is not None and row.lease.began is not None
            return Run(on_channel, began, row.outcome, row.lost, row.kept)
