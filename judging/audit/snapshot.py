"""One consistent look at the ledger and at everything it explains, thread by thread (ledger.md §4).

Five streams ordered by thread are read side by side through server-side cursors of one repeatable-read transaction:
memory holds one thread at a time, and writers are neither stopped nor half seen.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from msgspec.json import decode
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.pq import Format

from judging.ids import id_of_bytes
from judging.models import Audit, AuditScope
from judging.records import COLUMNS, Record, documents_digest
from judging.replay import Handout, Judgement, Seal, StoredJob, Tables, ThreadColumns
from judging.rows import column_of

_BATCH = 2_000
_NO_THREAD = UUID(int=0)
"""Under which rows stand that belong to no thread at all: the database's constraints forbid them."""
_JOB = ", ".join(f"j.{column_of(name)}" for name in COLUMNS)

# All begin with the thread and are ordered by it, as sixteen bytes, which compare faster than an id. The scope's
# condition takes the place of {}.
RECORDS = """
SELECT uuid_send(r.thread), r.n, r.at, r.v, r.type, r.job, r.actor, r.data::text, r.after, r.hash
FROM judging_ledgerrecord r WHERE r.thread {} ORDER BY r.thread, r.n
"""
THREADS = """
SELECT uuid_send(t.id), t.n, t.tail, t.last_at, t.head, t.head_priority, t.head_created_at, t.running, t.claimable
FROM judging_thread t WHERE t.id {} ORDER BY t.id
"""
SEALS = "SELECT uuid_send(s.thread), s.n, s.tail FROM judging_threadseal s WHERE s.thread {} ORDER BY s.thread"
JOBS = f"SELECT uuid_send(j.thread_id), j.n, {_JOB} FROM judging_job j WHERE j.thread_id {{}} ORDER BY j.thread_id"
_THREAD_OF_JOB = f"coalesce(j.thread_id, '{_NO_THREAD}')"
DELIVERIES = f"""
SELECT uuid_send({_THREAD_OF_JOB}), d.token, d.job_id, d.fence, d.runner_id, d.claimed_at, d.ended_at, d.ending
FROM judging_delivery d LEFT JOIN judging_job j ON j.id = d.job_id WHERE {_THREAD_OF_JOB} {{}} ORDER BY {_THREAD_OF_JOB}
"""
RESULTS = """
SELECT uuid_send(s.thread_id), r.id, r.token, r.job_id, r.submission_id, r.attempt, r.runner_id,
    r.verdict, r.score, r.max_score, r.infrastructure_failure, r.failure_reason, r.runner_version, r.extra, r.props, r.created_at
FROM judging_result r JOIN judging_submission s ON s.id = r.submission_id WHERE s.thread_id {} ORDER BY s.thread_id
"""

STREAMS = {
    "records": RECORDS,
    "threads": THREADS,
    "seals": SEALS,
    "jobs": JOBS,
    "deliveries": DELIVERIES,
    "results": RESULTS,
}
_Rows = Sequence[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Scope:
    """Which threads to look at: all, those of some lanes, some by name, or those with news since an audit."""

    kind: AuditScope = AuditScope.ALL
    lanes: tuple[UUID, ...] = ()
    threads: tuple[UUID, ...] = ()
    since: Audit | None = None

    def condition(self) -> tuple[str, list[Any]]:
        """What a thread's id must satisfy in SQL, with its parameters."""
        if self.kind is AuditScope.LANES:
            return "IN (SELECT id FROM judging_thread WHERE lane_id = ANY (%s))", [list(self.lanes)]
        if self.kind is AuditScope.THREADS:
            return "= ANY (%s)", [list(self.threads)]
        if self.since is not None:
            return (
                "IN (SELECT n.thread FROM judging_ledgerrecord n WHERE n.xid >= pg_snapshot_xmin(%s::pg_snapshot)"
                " AND NOT pg_visible_in_snapshot(n.xid, %s::pg_snapshot))"
            ), [self.since.snapshot, self.since.snapshot]
        return "IS NOT NULL", []


@dataclass(frozen=True, slots=True)
class Moment:
    """What a snapshot sees: up to when, of which server, and which transactions."""

    at: datetime
    server: str
    snapshot: str


@dataclass(frozen=True, slots=True)
class ThreadView:
    """One thread as the snapshot has it."""

    id: UUID
    records: Sequence[Record]
    tables: Tables


class Stream:
    """Rows in the order of their first column, taken group by group."""

    def __init__(self, rows: Iterator[tuple[Any, ...]]) -> None:
        self._groups = groupby(rows, key=itemgetter(0))
        self.key: bytes | None = None
        """The next group's; None at the end."""
        self._rows: _Rows = ()
        self._advance()

    def _advance(self) -> None:
        self.key, group = next(self._groups, (None, ()))
        self._rows = list(group)

    def take(self, key: bytes) -> _Rows:
        """The rows under a key: those of the next group, or none."""
        if key != self.key:
            return ()
        rows = self._rows
        self._advance()
        return rows


@contextmanager
def snapshot() -> Iterator[Moment]:
    """Hold one repeatable-read, read-only transaction; its moment. It may last as long as the ledger is long."""
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        cursor.execute("SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0")
        cursor.execute("SELECT judge_now(), judge_server(), pg_current_snapshot()::text")
        yield Moment(*cursor.fetchone())


def count_records(scope: Scope) -> int:
    """How many records a look at this scope will read."""
    condition, parameters = scope.condition()
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM judging_ledgerrecord r WHERE r.thread {condition}", parameters)
        counted: int = cursor.fetchone()[0]
    return counted


def threads(scope: Scope) -> Generator[ThreadView]:
    """Every thread that the ledger or a table knows, in the order of ids. Only inside `snapshot()`."""
    streams = {name: Stream(_rows(name, sql, scope)) for name, sql in STREAMS.items()}
    while keys := [stream.key for stream in streams.values() if stream.key is not None]:
        key = min(keys)
        thread = id_of_bytes(key)
        rows = {name: stream.take(key) for name, stream in streams.items()}
        records = [_record(thread, row) for row in rows.pop("records")]
        yield ThreadView(thread, records, _tables(**rows))


def _tables(threads: _Rows, seals: _Rows, jobs: _Rows, deliveries: _Rows, results: _Rows) -> Tables:
    return Tables(
        thread=ThreadColumns(*threads[0][1:]) if threads else None,
        seal=Seal(*seals[0][1:]) if seals else None,
        jobs=[StoredJob(row[1], row[2:]) for row in jobs],
        handouts=[Handout(*row[1:]) for row in deliveries],
        judgements=[_judgement(row[1:]) for row in results],
    )


def _rows(name: str, sql: str, scope: Scope) -> Iterator[tuple[Any, ...]]:
    """A statement's rows through a server-side cursor, in batches and in binary."""
    condition, parameters = scope.condition()
    with connection.connection.cursor(name=f"audit_{name}", binary=True) as cursor:
        cursor.adapters.register_loader("uuid", _Ids)
        cursor.execute(sql.format(condition), parameters)
        while rows := cursor.fetchmany(_BATCH):
            yield from rows


class _Ids(Loader):
    """How ids are loaded: a good part of all columns are some."""

    format = Format.BINARY

    def load(self, data: Buffer) -> UUID:
        """The id in sixteen bytes."""
        return id_of_bytes(bytes(data))


def _record(thread: UUID, row: tuple[Any, ...]) -> Record:
    _, n, at, v, kind, job, actor, data, after, digest = row
    return Record(thread, n, at, v, kind, job, actor, decode(data), after, digest)


def _judgement(row: tuple[Any, ...]) -> Judgement:
    keys, (score, most, failed, *documents, created_at) = row[:7], row[7:]
    scores = (None if score is None else repr(score), None if most is None else repr(most))
    values = [*keys, *scores, failed, documents_digest(*documents), created_at]
    return Judgement(*values)
