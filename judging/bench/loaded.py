"""Threads as a benchmark stores them: moved by the rules in memory, written by COPY.

Only the triggers are passed by, where the account may (superusers), since they check row by row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from judging.bench.scratch import Connection, vacuum
from judging.models import Job
from judging.records import Record, row_digest
from judging.rows import JobRow, Move, apply
from judging.rules import head_of
from judging.states import RecordType

_BATCH = 20_000
_COLUMNS = {field.name: str(field.column) for field in Job._meta.concrete_fields}


@dataclass(frozen=True, slots=True)
class Library:
    """One problem, a source file, and lanes for its submissions."""

    version: UUID
    source: UUID
    lanes: list[UUID]


@dataclass(slots=True)
class Loaded:
    """One thread as it will be stored."""

    id: UUID
    lane: UUID
    jobs: dict[UUID, JobRow] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)
    last: dict[UUID, int] = field(default_factory=dict)
    ended: list[dict[str, Any]] = field(default_factory=list)
    results: list[dict[str, Any]] = field(default_factory=list)

    def move(self, kind: RecordType, job: UUID, at: datetime, actor: str, data: dict[str, Any]) -> None:
        """Apply one move and keep its record."""
        n = len(self.records) + 1
        after = apply(self.jobs.get(job), Move(kind, job, at, data, n))
        record = Record(self.id, n, at, 1, str(kind), job, actor, data, row_digest(after))
        tail = self.records[-1].hash if self.records else b""
        self.records.append(record._replace(hash=record.chained(tail)))
        self.jobs[job], self.last[job] = after, n


def copy(straight: Connection, into: Library, threads: Iterator[Loaded]) -> None:
    """Write the threads a batch at a time: records, jobs, and all that hangs on them."""
    if straight.info.parameter_status("is_superuser") == "on":
        straight.execute("SET session_replication_role = replica")
    while batch := list(islice(threads, _BATCH)):
        with straight.transaction():
            for table, rows in _tables(into, batch).items():
                _copy_into(straight, table, rows)
    straight.execute("SET session_replication_role = origin")
    # A server's sweep may have put them to rest before the work was there: nothing here takes the lock it looks for.
    straight.execute("UPDATE judging_lane SET active = true WHERE id = ANY(%s)", [into.lanes])
    vacuum(straight, "judging_thread", "judging_job", "judging_submission", "judging_ledgerrecord", "judging_delivery", "judging_result")


def _tables(into: Library, batch: Sequence[Loaded]) -> dict[str, list[dict[str, Any]]]:
    jobs = [(thread, job) for thread in batch for job in thread.jobs.values()]
    return {
        "judging_thread": [_thread(thread) for thread in batch],
        "judging_submission": [_submission(into, job) for _, job in jobs],
        "judging_submissionfile": [
            {"submission_id": job.submission, "position": 0, "name": "source", "file_name": "main.py", "file_id": into.source}
            for _, job in jobs
        ],
        "judging_ledgerrecord": [_record(record) for thread in batch for record in thread.records],
        "judging_job": [_job(job) | {"n": thread.last[job.id]} for thread, job in jobs],
        "judging_delivery": [
            *(
                {"token": job.token, "job_id": job.id, "fence": job.fence, "runner_id": job.runner, "claimed_at": job.claimed_at}
                | {"ended_at": None, "ending": ""}
                for _, job in jobs
                if job.token
            ),
            *(delivery for thread in batch for delivery in thread.ended),
        ],
        "judging_result": [result for thread in batch for result in thread.results],
    }


def _thread(thread: Loaded) -> dict[str, Any]:
    head, last = head_of(thread.jobs.values()), thread.records[-1]
    return {
        "id": thread.id, "key": f"submission:{thread.id}", "lane_id": thread.lane, "n": last.n, "tail": last.hash, "last_at": last.at,
        "head": head.job, "head_priority": head.priority, "head_created_at": head.created_at, "running": head.running,
        "claimable": head.claimable,
    }  # fmt: skip


def _job(row: JobRow) -> dict[str, Any]:
    values = row._asdict() | {"state": str(row.state)}
    return {_COLUMNS[name]: value for name, value in values.items()}


def _submission(into: Library, job: JobRow) -> dict[str, Any]:
    return {
        "id": job.submission, "thread_id": job.thread, "lane_id": job.lane, "version_id": into.version, "props": '{"language":"python3"}',
        "created_at": job.created_at, "attempts": 1,
    }  # fmt: skip


def _record(record: Record) -> dict[str, Any]:
    return record._asdict() | {"data": Jsonb(dict(record.data))}


def _copy_into(straight: Connection, table: str, rows: Sequence[dict[str, Any]]) -> None:
    if not rows:
        return
    names = ", ".join(rows[0])
    with straight.cursor() as cursor, cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(list(row.values()))
