"""The contract's second part: what a store offers whose runners may also speak on the runner channel (seed 001).

A store without a channel leaves all of this out. As in the first part nothing here knows a database, nor a connection:
messages and their acknowledgements are the door's, what they do to a job is the store's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from tests.contract.interface import Client, Handout, Id

HEARTBEAT, LEASE, GRACE = 90, 100, 60
"""Seconds of silence that end a run; of the lease that follows from them (channel-protocol §7); over a problem's own time."""

Heard = Literal["ack", "cancel"]
"""What the sender of a sign of life is answered: go on, or stop."""
Silence = Literal["heartbeat_timeout", "job_timeout_exceeded"]
"""In which words the connection of a silent runner ends."""


@dataclass(frozen=True, slots=True)
class Run:
    """What the channel adds to a job as it is stored.

    `channel` and `began` tell of the delivery that holds it: it was claimed there, and its runner has said that it runs.
    `outcome` was stored and waits to become the result. `lost` is the token of the last delivery of a job that failed
    because contact was lost. `kept` is what the run left: its verdict, or its runner's error; empty when there is none.
    """

    channel: bool
    began: bool
    outcome: Id | None
    lost: Id | None
    kept: str


class ChannelClient(Client, Protocol):
    """A client of a store with a channel.

    A token is worth something here when it was handed out here: one of the first part's claim is nobody's.
    """

    def claim_on_channel(self, runner: Id) -> Handout | None:
        """As claim, under the lease that heartbeats keep."""

    def start(self, job: Id, token: Id) -> Heard:
        """`running`: the run begins, and from here its hard limit counts. Said again it is a heartbeat."""

    def beat(self, job: Id, token: Id) -> Heard:
        """`heartbeat`."""

    def take_up(self, job: Id, token: Id) -> Heard:
        """A sign of life on another connection than before: the deadline is a whole lease away afterwards."""

    def lose(self, job: Id, token: Id) -> Silence:
        """The holder is connected and was silent for the whole heartbeat timeout.

        Does nothing when more of its lease is left than such silence leaves: then it was heard elsewhere.
        """

    def finish(self, job: Id, runner: Id, token: Id | None, *, verdict: str | None = "Accepted", in_course: bool = False) -> Id | None:
        """`completed`: its outcome, which is durable now and waits for process; None when it is dropped.

        A token of None stands for a connection that was not given the job: the runner's last delivery of it is meant.
        `in_course`: it goes on on this very connection. A verdict of None stands for an output that has none.
        Refused as `channel.notStarted` when it is in course and never began.
        """

    def fail(self, job: Id, runner: Id, token: Id | None, *, error: str) -> None:
        """`failed`, with the runner's words."""

    def abandon(self, job: Id, runner: Id, token: Id | None) -> None:
        """`canceled`."""

    def process(self, outcome: Id) -> bool:
        """Make the result of an outcome, or fail its job when it makes none; whether this call did.

        A sweep does it for outcomes that have waited a minute.
        """

    def run(self, job: Id) -> Run:
        """A job as the channel sees it; not_found as by `job`."""
