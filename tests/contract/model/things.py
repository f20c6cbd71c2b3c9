"""What the queue in memory is made of: mutable things, and how a job leaves a runner's hands (runner-protocol §6)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from tests.contract.interface import Id, Refused

if TYPE_CHECKING:
    from tests.contract.model.store import Model


@dataclass(eq=False)
class Lane:
    problem_type: str
    external: bool
    pools: frozenset[str]
    priority: int
    cap: int
    timeout: int
    paused: bool = False


@dataclass(eq=False)
class Runner:
    types: frozenset[str]
    external: bool
    pools: frozenset[str]
    standing: str


@dataclass(eq=False)
class Lease:
    token: str
    runner: Id
    granted: float
    until: float
    latest: float
    claimed: int
    moved: int
    """When `until` was set last, as a number: of two equal deadlines the one that was set first comes first."""
    heard: bool = False
    roles: set[str] = field(default_factory=set)
    channel: bool = False
    began: float | None = None


@dataclass(eq=False)
class Thread:
    store: Model
    lane: Lane
    jobs: list[Entry] = field(default_factory=list)


@dataclass(eq=False)
class Sent:
    thread: Thread
    author: Id | None
    lane: Id
    jobs: list[Entry] = field(default_factory=list)
    attempts: int = 0
    deleted: bool = False


@dataclass(eq=False)
class Outcome:
    """What a run on the channel left, from its arrival on; `verdict` is None when it has none."""

    job: Entry
    token: Id
    runner: Id
    verdict: str | None
    arrived: float
    waits: bool = True


@dataclass(eq=False)
class Entry:
    id: str
    age: int
    thread: Thread
    submission: str
    attempt: int
    priority: int
    urgent: bool
    cap: int
    state: str = "queued"
    lease: Lease | None = None
    fence: int = 0
    deliveries: int = 0
    releases: int = 0
    refunds: int = 0
    admitted: bool = False
    outside: str | None = None
    cause: str = ""
    replaced_by: str | None = None
    voided: bool = False
    marked: bool = False
    finished_at: float | None = None
    hands: list[tuple[Id, Id]] = field(default_factory=list)
    outcome: Id | None = None
    lost: Id | None = None
    kept: str = ""

    @property
    def open(self) -> bool:
        return self.state in {"queued", "running"}

    @property
    def started(self) -> bool:
        return self.deliveries > 0 or self.admitted

    def held_on_channel(self, token: Id) -> bool:
        return self.lease is not None and self.lease.channel and self.lease.token == token

    def in_hand(self, token: Id) -> bool:
        """Held under this token on the channel, with no outcome yet."""
        return self.held_on_channel(token) and self.outcome is None

    def may_override(self, token: Id) -> bool:
        """Failed because contact with this delivery was lost, and nothing has come since (seed 001)."""
        return self.lost == token and self.outcome is None

    def come_back(self, cause: str) -> None:
        self.state, self.lease, self.cause = "queued", None, cause

    def come_back_free(self, cause: str) -> None:
        self.deliveries -= 1
        self.come_back(cause)

    def come_back_counted(self, cause: str) -> None:
        """The cap is applied where a delivery ends (queue.md §4)."""
        if self.deliveries >= self.cap:
            self.give_up(cause)
        else:
            self.come_back(cause)

    def give_up(self, cause: str) -> None:
        self.end("failed", f"Given up after {self.deliveries} deliveries: {cause}")

    def end(self, state: str, cause: str = "") -> None:
        self.state, self.lease, self.cause = state, None, cause
        self.outcome = self.lost = None
        self.finished_at = self.thread.store.clock


def refuse(code: str) -> NoReturn:
    raise Refused(code)
