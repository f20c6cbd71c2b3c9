"""PURE: a job's ledgered row, the moves that change it, and the refusal of a move."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from judging.states import JobState, RecordType

Scalar = str | int | bool | None

DEFAULT_TIMEOUT_SECONDS = 3600

_REFERENCES = frozenset({"thread", "submission", "lane", "version", "runner"})


class JobRow(NamedTuple):
    """Every ledgered column of one job. Lease columns are set exactly while it runs.

    A tuple, because a replay makes a new one for every record: that is five times faster than a dataclass here.
    `fence` counts hand-outs ever; `deliveries` those that count against `cap`. `granted` is whole seconds.
    `timeout` is the problem's bound on one run, in seconds. `channel` says that this delivery was claimed on the channel,
    `started_at` when its runner said so there. `outcome` is the stored outcome that waits to become a result; `lost` the
    last delivery of a job that failed because contact was lost, whose outcome may still come.
    """

    id: UUID
    thread: UUID
    submission: UUID
    lane: UUID
    version: UUID
    attempt: int
    priority: int
    urgent: bool
    cap: int
    created_at: datetime
    state: JobState = JobState.QUEUED
    fence: int = 0
    deliveries: int = 0
    releases: int = 0
    refunds: int = 0
    token: UUID | None = None
    runner: UUID | None = None
    claimed_at: datetime | None = None
    lease_until: datetime | None = None
    granted: int | None = None
    heard: bool = False
    admitted: bool = False
    outside_id: str | None = None
    finished_at: datetime | None = None
    reason: str | None = None
    replaced_by: UUID | None = None
    voided_at: datetime | None = None
    marked: bool = False
    closed_at_seq: int | None = None
    timeout: int = DEFAULT_TIMEOUT_SECONDS
    channel: bool = False
    started_at: datetime | None = None
    outcome: UUID | None = None
    lost: UUID | None = None

    @property
    def started(self) -> bool:
        """Whether a counted delivery or an outside hand-over exists: such a job goes before its siblings."""
        return self.deliveries > 0 or self.admitted


_PLACES = {name: place for place, name in enumerate(JobRow._fields)}


def _replace(row: JobRow, **changes: Any) -> JobRow:
    """The row with these columns changed: what a tuple's own _replace does in twice the time, asking for every column."""
    values = list(row)
    for name, value in changes.items():
        values[_PLACES[name]] = value
    return tuple.__new__(JobRow, values)


JobRow._replace = _replace  # type: ignore[assignment, method-assign]


def column_of(name: str) -> str:
    """The job table's column that holds this field of a row: what refers to another table ends in `_id`."""
    return f"{name}_id" if name in _REFERENCES else name


class Move(NamedTuple):
    """One thing that happened to one job, as record `n` of its thread says it.

    `data` holds strings, integers, booleans, None.
    """

    type: RecordType
    job: UUID
    at: datetime
    data: Mapping[str, Scalar]
    n: int


class Illegal(ValueError):
    """This move is not allowed from the row it meets; the words say which rule refuses it."""
