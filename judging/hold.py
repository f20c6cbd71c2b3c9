"""A thread under its lock: the only way to move a job (queue.md §3).

Every verb opens one transaction, holds one thread, reads the clock after the lock, moves jobs by pure rules,
and writes once. What is read here cannot change until the transaction ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from judging import ledger
from judging.errors import JobStateWrong, LeaseForeign, LeaseStale, NotFound
from judging.ledger import Beside, Change, Route, ThreadRow
from judging.records import row_document
from judging.rows import Illegal, JobRow, Move, Scalar, apply, column_of
from judging.rules import displaced_on_return, head_of
from judging.states import FINISHED, JobState, RecordType
from judging.wake import Event, Judged, Work, announce
from runners.prepared import prepared_cursor

_JOB = [column_of(name) for name in JobRow._fields]
_THREAD = ["id", "organization", "lane_id", "n", "tail", "last_at", "head", "claimable"]
COLUMNS = ", ".join(["h.at", *(f"h.thread_{name}" for name in _THREAD), *(f"h.job_{name}" for name in _JOB)])
HOLD = f"SELECT {COLUMNS} FROM judge_held(%s, %s, %s) h"
HOLD_EACH = f"""
SELECT {COLUMNS} FROM unnest(%s::uuid[]) WITH ORDINALITY each (job, place), LATERAL judge_held(NULL, each.job, true) h ORDER BY each.place
"""
FINISHED_BEFORE = f"""
SELECT {", ".join(_JOB)} FROM judging_job WHERE thread_id = %s AND finished_at < %s ORDER BY finished_at, id
"""
_STATE = _JOB.index("state")


@dataclass(slots=True)
class Hold:
    """One locked thread: its open jobs and the one asked for, and what the verb does to them.

    `at` is the database's clock after the lock, never before the thread's last record.
    """

    thread: ThreadRow
    at: datetime
    jobs: dict[UUID, JobRow]
    changes: list[Change] = field(default_factory=list)
    also: list[Beside] = field(default_factory=list)

    def move(self, job: UUID, kind: RecordType, *, actor: str, **data: Scalar) -> JobRow:
        """Apply one move to one job. Raises judging.rows.Illegal when the rules refuse it."""
        before = self.jobs.get(job)
        plain = {name: str(value) if isinstance(value, str) else value for name, value in data.items()}
        move = Move(kind, job, self.at, plain, self.thread.n + len(self.changes) + 1)
        after = apply(before, move)
        self.changes.append(Change(move, actor, before, after))
        self.jobs[job] = after
        return after

    def reclaim(self, row: JobRow, *, actor: str) -> None:
        """Record that a finished job's row is removed. Raises Illegal for an open one."""
        if row.state not in FINISHED:
            raise Illegal("reclaimed while it was not finished")
        move = Move(RecordType.RECLAIMED, row.id, self.at, {}, self.thread.n + len(self.changes) + 1)
        self.changes.append(Change(move, actor, row, None))
        self.jobs.pop(row.id, None)

    def stand(self, row: JobRow, *, actor: str) -> None:
        """Record a job that was there before the ledger, as it stands. Raises Illegal when it cannot stand so."""
        move = Move(RecordType.BASELINE, row.id, self.at, row_document(row), self.thread.n + len(self.changes) + 1)
        self.changes.append(Change(move, actor, row, apply(None, move)))

    def finished_before(self, moment: datetime) -> list[JobRow]:
        """The thread's jobs that finished before a moment, oldest first."""
        with connection.cursor() as cursor:
            cursor.execute(FINISHED_BEFORE, [self.thread.id, moment])
            return [_job(row) for row in cursor.fetchall()]

    def returned(self, job: UUID, *, actor: str) -> JobRow:
        """After a job came back: an urgent one gives way to a newer urgent one that waits (I3)."""
        row = self.jobs[job]
        heir = displaced_on_return(row, self.jobs.values())
        if heir is None:
            return row
        return self.move(job, RecordType.DISPLACED, actor=actor, by=str(heir.id))

    def beside(self, sql: str, values: Sequence[Any]) -> None:
        """Have a writing statement of the verb's own run together with `write`, in its one round trip."""
        self.also.append(Beside(sql, values))

    def write(self) -> None:
        """Write what was moved, if anything; announce what finished, and work that became claimable."""
        if not self.changes:
            return
        route = ledger.append(self._outcome(), beside=self.also)
        announce(*self._told(), *([work_of(route)] if route is not None else []))

    def _outcome(self) -> ledger.Outcome:
        return ledger.Outcome(self.thread, self.changes, head_of(self.jobs.values()), self.at)

    def _told(self) -> set[Event]:
        """Forget what is written now; whom it concerns."""
        # Whoever ended it, a reaper or a claim that gave it up too: somebody may wait for this submission.
        ends = (change.after for change in self.changes if change.after and change.after.state in FINISHED)
        told: set[Event] = {Judged(row.submission) for row in ends}
        self.changes, self.also = [], []
        return told

    def gate(self, job: UUID, *, token: UUID | None, runner: UUID) -> JobRow:
        """The one gate of a held job: exists, token current, owner, running, in this order.

        `token` is None when what came could not be a token: it matches nothing, least of all "no lease".
        The deadline alone refuses nobody (runner-protocol §5).
        Raises NotFound, LeaseStale, LeaseForeign, JobStateWrong; the last one also when its outcome has arrived.
        """
        row = self.jobs.get(job)
        if row is None:
            raise NotFound
        if token is None or row.token != token:
            raise LeaseStale
        if row.runner != runner:
            raise LeaseForeign
        if row.state is not JobState.RUNNING or row.outcome is not None:
            raise JobStateWrong
        return row


def work_of(route: Route) -> Work:
    """What waiting runners are told of work that became claimable."""
    return Work(route.problem_type, route.external, route.pools)


def write_all(holds: Sequence[Hold]) -> None:
    """Write what was moved in several threads, in one round trip, and announce each thing once.

    What goes beside is a single hold's: there may be none here.
    """
    # By lane, as `reroute` takes them: writing may wake a lane that rests, and nobody is to wait for another's crosswise.
    moved = sorted((held for held in holds if held.changes), key=lambda held: held.thread.lane)
    if not moved:
        return
    routes = ledger.append_all([held._outcome() for held in moved])
    announce(*{event for held in moved for event in held._told()}, *{work_of(route) for route in routes})


def read(rows: Sequence[Sequence[Any]]) -> Hold | None:
    """A hold out of rows that start with COLUMNS; None when there is no such thread, or it was skipped."""
    if not rows or rows[0][0] is None:
        return None
    at, *thread = rows[0][: 1 + len(_THREAD)]
    width = 1 + len(_THREAD)
    found = [row[width : width + len(_JOB)] for row in rows]
    jobs = [_job(values) for values in found if values[_STATE] is not None]
    return Hold(ThreadRow(*thread), at, {job.id: job for job in jobs})


def _job(values: Sequence[Any]) -> JobRow:
    """A row out of values in the order of `_JOB`."""
    return JobRow._make([*values[:_STATE], JobState(values[_STATE]), *values[_STATE + 1 :]])


def _hold(thread: UUID | None, job: UUID | None, *, skip_locked: bool) -> Hold | None:
    with prepared_cursor() as cursor:
        cursor.execute(HOLD, [thread, job, skip_locked])
        return read(cursor.fetchall())


def hold_thread(thread: UUID) -> Hold:
    """Lock a thread that exists. Raises NotFound when it does not."""
    held = _hold(thread, None, skip_locked=False)
    if held is None:
        raise NotFound
    return held


def hold_job(job: UUID) -> Hold:
    """Lock the thread of a job; the job is among `jobs`, open or not. Raises NotFound for an unknown id."""
    held = _hold(None, job, skip_locked=False)
    if held is None or job not in held.jobs:
        raise NotFound
    return held


def hold_jobs_unless_locked(jobs: Sequence[UUID]) -> list[tuple[UUID, Hold]]:
    """Lock the threads of these jobs, but for those that somebody else works on right now, and of jobs that are gone.

    Nothing is waited for, so two that hold many at once do not lock each other out.
    """
    with prepared_cursor() as cursor:
        cursor.execute(HOLD_EACH, [list(jobs)])
        rows = cursor.fetchall()
    threads: dict[UUID, list[Sequence[Any]]] = {}
    for row in rows:
        threads.setdefault(row[1], []).append(row)
    holds = [held for found in threads.values() if (held := read(found)) is not None]
    by_job = {job: held for held in holds for job in held.jobs}
    return [(job, by_job[job]) for job in jobs if job in by_job]
