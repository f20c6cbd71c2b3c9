"""append(): the only writer of the ledger, of job rows and of a thread's head (ledger.md §1).

One statement writes a verb's whole outcome: the records first, then the rows they explain, so that the
trigger on the job table finds each row's record. The function `judge_write` is in the migrations.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.backends.utils import CursorWrapper

from judging.records import NO_ROW, VERSION, Record, instant, row_digest, row_document
from judging.rows import JobRow, Move, column_of
from judging.rules import Head
from judging.states import RecordType
from runners.prepared import prepared_cursor

Documents = Sequence[object]

WRITE = "SELECT * FROM judge_write(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"


@dataclass(frozen=True, slots=True)
class ThreadRow:
    """A thread as it was read under its lock; `n`, `tail` and `last_at` are the last record's."""

    id: UUID
    organization: UUID | None
    lane: UUID
    n: int
    tail: bytes
    last_at: datetime | None
    head: UUID | None
    claimable: bool


@dataclass(frozen=True, slots=True)
class Change:
    """One move with its actor, the row it met (None: it opened the job) and the row it leaves (None: it removed it)."""

    move: Move
    actor: str
    before: JobRow | None
    after: JobRow | None


@dataclass(frozen=True, slots=True)
class Route:
    """Where newly claimable work may be judged: what waiting runners are told."""

    problem_type: str
    external: bool
    pools: frozenset[str]


@dataclass(frozen=True, slots=True)
class Beside:
    """A statement that writes something else of the same verb, such as a result; it may touch no job and no thread."""

    sql: str
    values: Sequence[Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one verb leaves of one thread, to be written under the thread's lock."""

    thread: ThreadRow
    changes: Sequence[Change]
    head: Head
    at: datetime

    def values(self) -> list[Any]:
        """What `judge_write` is told."""
        records = _chain(self.thread, self.changes)
        last, head = records[-1], self.head
        documents = ([_stored(record) for record in records], *_rows(records, self.changes))
        known = [self.thread.id, self.thread.n, last.n, last.hash, self.at, head.job, head.priority, head.created_at, head.running]
        return [*known, *(json.dumps(document) for document in documents)]


def append(outcome: Outcome, *, beside: Sequence[Beside] = ()) -> Route | None:
    """Write the records of these changes, the rows they leave and the thread's new head, and what goes `beside` them.

    The caller holds the thread's lock. Returns the route of work that has become claimable by this, or None.
    Raises a database error when a row is not what it was under the lock: a bug, so nothing is written.
    """
    # Statements beside ride along as writing CTEs, which PostgreSQL runs to their end whether or not they are read.
    riders = ", ".join(f"beside_{place} AS ({one.sql})" for place, one in enumerate(beside))
    ridden = [value for one in beside for value in one.values]
    with prepared_cursor() as cursor:
        [route] = _run(cursor, f"WITH {riders} {WRITE}" if riders else WRITE, [*ridden, *outcome.values()])
    return route


def append_all(outcomes: Sequence[Outcome]) -> list[Route]:
    """As append, for several threads in one round trip: all of it is written, or nothing. The routes there are."""
    # Not prepared: there are ten lengths, and each as often as values may be missing.
    with connection.cursor() as cursor:
        routes = _run(cursor, " UNION ALL ".join([WRITE] * len(outcomes)), [value for one in outcomes for value in one.values()])
    return [route for route in routes if route is not None]


def _run(cursor: CursorWrapper, statement: str, values: Sequence[Any]) -> list[Route | None]:
    cursor.execute(statement, values)
    rows = cursor.fetchall()
    return [Route(problem_type, external, frozenset(pools)) if fresh else None for fresh, problem_type, external, pools in rows]


def _chain(thread: ThreadRow, changes: Sequence[Change]) -> list[Record]:
    """The changes as records that go on from the thread's tail."""
    records: list[Record] = []
    n, tail = thread.n, thread.tail
    for change in changes:
        n += 1
        move = change.move
        after = row_digest(change.after) if change.after else NO_ROW
        record = Record(thread.id, n, move.at, VERSION, move.type, move.job, change.actor, move.data, after)
        tail = record.chained(tail)
        records.append(record._replace(hash=tail))
    return records


def _stored(record: Record) -> dict[str, object]:
    return record.document() | {"hash": record.hash.hex()}


def _columns(row: JobRow, n: int) -> Mapping[str, object]:
    """A row under its columns' names, with the number of the record that left it."""
    document = row_document(row)
    return {column_of(name): document[name] for name in document} | {"n": n}


def _rows(records: Sequence[Record], changes: Sequence[Change]) -> tuple[Documents, Documents, Documents, Documents]:
    """What the changes leave: jobs opened, jobs moved (with what they were), deliveries begun and ended.

    A job that moved twice is written once, from what it was first to what it is last. One that was reclaimed
    leaves nothing: its verb deletes the row, which the records written here allow.
    """
    first: dict[UUID, JobRow | None] = {}
    last: dict[UUID, tuple[JobRow, int]] = {}
    handed: list[object] = []
    ended: list[object] = []
    for record, change in zip(records, changes, strict=True):
        if change.after is None:
            continue
        first.setdefault(record.job, change.before)
        last[record.job] = (change.after, record.n)
        held = change.before.token if change.before else None
        if held is not None and held != change.after.token:
            ended.append({"token": str(held), "ending": str(change.move.type)})
        if change.move.type is RecordType.LEASED:
            handed.append(_delivery(change.after))
    opened = [_columns(*last[job]) for job, before in first.items() if before is None]
    moved = [
        {"row": _columns(*last[job]), "state": before.state, "token": str(before.token) if before.token else None}
        for job, before in first.items()
        if before is not None
    ]
    return opened, moved, handed, ended


def _delivery(row: JobRow) -> dict[str, object]:
    assert row.claimed_at is not None
    return {
        "token": str(row.token),
        "job_id": str(row.id),
        "fence": row.fence,
        "runner_id": str(row.runner),
        "claimed_at": instant(row.claimed_at),
        "ending": "",
    }
