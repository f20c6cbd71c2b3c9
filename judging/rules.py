"""PURE: what decides. Values in, values out: no clock, no random, no database.

Authority: seed 000, seed 003, runner-protocol §4 and §11, queue.md §4. How one row becomes the next is in `rows`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from uuid import UUID

from judging.rows import JobRow, over_limit
from judging.states import OPEN, JobState, Priority


@dataclass(frozen=True, slots=True)
class Limits:
    """The numbers of runner-protocol §11. `deliveries` is the default of a problem's own cap."""

    lease: timedelta = timedelta(seconds=600)
    lease_min: timedelta = timedelta(seconds=60)
    lease_max: timedelta = timedelta(seconds=3600)
    deliveries: int = 5
    free_releases: int = 3
    free_refunds: int = 3
    wait_max: timedelta = timedelta(seconds=300)
    nonce: timedelta = timedelta(seconds=120)
    token: timedelta = timedelta(hours=12)
    upload_bytes: int = 128 * 1024 * 1024
    submission_bytes: int = 8 * 1024 * 1024
    opaque_bytes: int = 262_144
    extra_bytes: int = 2048
    reason_bytes: int = 4096
    verdict_length: int = 64
    batch_items: int = 512
    tags: int = 16
    tag_length: int = 64
    seen_every: timedelta = timedelta(seconds=30)
    connected_within: timedelta = timedelta(minutes=2)
    drain: timedelta = timedelta(seconds=300)
    unattached: timedelta = timedelta(hours=24)
    ticket: timedelta = timedelta(days=30)
    heartbeat: timedelta = timedelta(seconds=90)
    grace: timedelta = timedelta(seconds=60)
    channel_attempts: int = 16

    @property
    def beat_every(self) -> timedelta:
        """How often at most a heartbeat on the channel moves the stored deadline (channel-protocol §7)."""
        return min(timedelta(seconds=10), self.heartbeat / 4)

    @property
    def channel_lease(self) -> timedelta:
        """The lease of a job claimed on the channel, in whole seconds: a healthy runner never loses it."""
        return timedelta(seconds=math.ceil((self.heartbeat + self.beat_every).total_seconds()))

    @property
    def fresh_lease(self) -> timedelta:
        """How much of that lease must be left for a heartbeat to write nothing."""
        return self.channel_lease - self.beat_every

    @property
    def silent_lease(self) -> timedelta:
        """How much of it is left at most when the holder was silent for the whole heartbeat timeout. A holder that speaks
        always has more, whatever a clock does within half an interval."""
        return self.channel_lease - self.heartbeat + self.beat_every / 2

    def hard_limit(self, timeout: int) -> int:
        """For how many seconds a run may go on, whatever its runner says; `timeout` is the problem's, in seconds."""
        return timeout + int(self.grace.total_seconds())


def granted_lease(asked_seconds: float | None, *, default: timedelta, limits: Limits) -> timedelta:
    """The lease a runner gets: what it asked, clamped to whole seconds, never refused (seed 000)."""
    if asked_seconds is None:
        return default
    low, high = limits.lease_min.total_seconds(), limits.lease_max.total_seconds()
    return timedelta(seconds=int(min(max(asked_seconds, low), high)))


class Overdue(Enum):
    """Why the clock ends a run on the channel."""

    LOST = "contact was lost before the limit was reached"
    LIMIT = "the limit was exceeded"


def overdue(row: JobRow, at: datetime, *, limits: Limits) -> Overdue | None:
    """Whether a held run is over its hard limit, and if so, whether contact had been lost before that.

    A lease that lapsed before the limit was reached means lost, however late anybody looks (channel-protocol §7).
    """
    limit = limits.hard_limit(row.timeout)
    if row.outcome is not None or row.started_at is None or not over_limit(row.started_at, at, seconds=limit):
        return None
    reached = row.started_at + timedelta(seconds=limit + 1)
    return Overdue.LOST if row.lease_until is not None and row.lease_until < reached else Overdue.LIMIT


@dataclass(frozen=True, slots=True)
class Head:
    """What a thread offers: its head in claim order, and who runs, if anybody (queue.md §4)."""

    job: UUID | None
    priority: int | None
    created_at: datetime | None
    running: UUID | None

    @property
    def claimable(self) -> bool:
        """Whether a claim may take the head: there is one, and nothing of the thread runs."""
        return self.job is not None and self.running is None


def head_of(jobs: Iterable[JobRow]) -> Head:
    """The head among a thread's open jobs: started first, then urgent, then age, then id (seed 003)."""
    rows = [row for row in jobs if row.state in OPEN]
    running = next((row.id for row in rows if row.state is JobState.RUNNING), None)
    waiting = [row for row in rows if row.state is JobState.QUEUED]
    if not waiting:
        return Head(None, None, None, running)
    first = min(waiting, key=lambda row: (not row.started, not row.urgent, row.created_at, row.id))
    return Head(first.id, first.priority, first.created_at, running)


def superseded_by_new(jobs: Iterable[JobRow], *, submission: UUID, urgent: bool) -> list[JobRow]:
    """The waiting jobs a new one replaces, in order of age.

    An ordinary one ends its queued siblings of the same submission (seed 000); an urgent one every waiting
    job of the thread (queue.md §4). What is held or admitted stays.
    """
    waiting = (row for row in jobs if row.state is JobState.QUEUED and not row.admitted)
    replaced = [row for row in waiting if urgent or row.submission == submission]
    return sorted(replaced, key=lambda row: (row.created_at, row.id))


def displaced_on_return(row: JobRow, jobs: Iterable[JobRow]) -> JobRow | None:
    """The newer urgent job that an urgent one coming back unstarted gives way to, or None.

    Only one urgent job of a thread may wait unstarted (I3), and the latest wins.
    """
    if row.state is not JobState.QUEUED or not row.urgent or row.started:
        return None
    urgent = (other for other in jobs if other.urgent and other.state is JobState.QUEUED and not other.started)
    newer = [other for other in urgent if (other.created_at, other.id) > (row.created_at, row.id)]
    return max(newer, key=lambda other: (other.created_at, other.id), default=None)


def priority_of(*, urgent: bool, attempt: int, first: Priority, chosen: Priority | None = None) -> Priority:
    """The class of a new job: urgent, else the one an operator chose, else the activity's own for a first judging, else rejudge."""
    if urgent:
        return Priority.URGENT
    if chosen is not None:
        return chosen
    return first if attempt == 1 else Priority.REJUDGE
