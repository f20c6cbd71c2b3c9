"""One consistent look at the ledger and at everything it explains, thread by thread (ledger.md §4).

Five streams ordered by thread are read side by side through server-side cursors of one repeatable-read transaction:
memory holds one thread at a time, and writers are neither stopped nor half seen.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, get_args, get_type_hints
from uuid import UUID

from django.db import connection, transaction
from msgspec.json import decode

from judging.ids import id_of_bytes
from judging.models import Audit, AuditScope
from judging.records import Record, documents_digest
from judging.replay import Handout, Judgement, Seal, StoredJob, Tables, ThreadColumns
from judging.rows import JobRow, column_of

_BATCH = 2_000
_NO_THREAD = UUID(int=0)
"""Under which rows stand that belong to no thread at all: the database's constraints forbid them."""
_IDS = [place for place, (_, kind) in enumerate(get_type_hints(JobRow).items()) if UUID in (kind, *get_args(kind))]
_COLUMNS = [f"j.{column_of(name)}" for name in JobRow._fields]
_JOB = ", ".join(f"uuid_send({column})" if place in _IDS else column for place, column in enumerate(_COLUMNS))

# All begin with the thread and are ordered by it. Ids come as sixteen bytes, which compare faster, and are made when
# their thread's turn comes: the next one's are not the last one's to remember. The scope's condition takes the place of {}.
RECORDS = """
SELECT uuid_send(r.thread), r.n, r.at, r.v, r.type, uuid_send(r.job), r.actor, r.data::text, r.after, r.hash
FROM judging_ledgerrecord r WHERE r.thread {} ORDER BY r.thread, r.n
"""
THREADS = """
SELECT uuid_send(t.id), t.n, t.tail, t.last_at, uuid_send(t.head), t.head_priority, t.head_created_at, uuid_send(t.running), t.claimable,
    uuid_send(t.lane_id)
FROM judging_thread t WHERE t.id {} ORDER BY t.id
"""
SEALS = "SELECT uuid_send(s.thread), s.n, s.tail FROM judging_threadseal s WHERE s.thread {} ORDER BY s.thread"
JOBS = f"SELECT uuid_send(j.thread_id), j.n, {_JOB} FROM judging_job j WHERE j.thread_id {{}} ORDER BY j.thread_id"
_THREAD_OF_JOB = f"coalesce(j.thread_id, '{_NO_THREAD}')"
DELIVERIES = f"""
SELECT uuid_send({_THREAD_OF_JOB}), uuid_send(d.token), uuid_send(d.job_id), d.fence, uuid_send(d.runner_id),
    d.claimed_at, d.ended_at, d.ending
FROM judging_delivery d LEFT JOIN judging_job j ON j.id = d.job_id WHERE {_THREAD_OF_JOB} {{}} ORDER BY {_THREAD_OF_JOB}
"""
RESULTS = """
SELECT uuid_send(s.thread_id), uuid_send(r.id), uuid_send(r.token), uuid_send(r.job_id), uuid_send(r.submission_id),
    r.attempt, uuid_send(r.runner_id), r.verdict, r.score, r.max_score,
    r.infrastructure_failure, r.failure_reason, r.runner_version, r.extra, r.props, r.created_at
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


class ThreadView(NamedTuple):
    """One thread as the snapshot has it."""

    id: UUID
    records: Sequence[Record]
    tables: Tables


class Stream:
    """Rows in the order of their first column, taken by it."""

    def __init__(self, rows: Iterator[tuple[Any, ...]]) -> None:
        self._rows = rows
        self._next: tuple[Any, ...] = next(rows, _END)

    @property
    def key(self) -> bytes | None:
        """The next row's first column; None at the end."""
        return self._next[0]  # type: ignore[no-any-return]

    def take(self, key: bytes) -> _Rows:
        """The rows under a key: those that come next, or none."""
        if key != self._next[0]:
            return ()
        taken = [self._next]
        for row in self._rows:
            if row[0] != key:
                self._next = row
                return taken
            taken.append(row)
        self._next = _END
        return taken


_END = (None,)


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
    with ExitStack() as opened:
        streams = {name: Stream(_rows(opened, name, sql, scope)) for name, sql in STREAMS.items()}
        yield from _side_by_side(streams)


def _side_by_side(streams: Mapping[str, Stream]) -> Iterator[ThreadView]:
    while keys := [stream.key for stream in streams.values() if stream.key is not None]:
        key = min(keys)
        thread = id_of_bytes(key)
        rows = {name: stream.take(key) for name, stream in streams.items()}
        told = rows.pop("records")
        # The tables first: then the ids that are text in the records are known already.
        tables = _tables(**rows)
        yield ThreadView(thread, [_record(thread, row) for row in told], tables)


def _tables(threads: _Rows, seals: _Rows, jobs: _Rows, deliveries: _Rows, results: _Rows) -> Tables:
    return Tables(
        thread=_thread(threads[0]) if threads else None,
        seal=Seal(*seals[0][1:]) if seals else None,
        jobs=[_job(row) for row in jobs],
        handouts=[_handout(row) for row in deliveries],
        judgements=[_judgement(row) for row in results],
    )


def _rows(opened: ExitStack, name: str, sql: str, scope: Scope) -> Iterator[tuple[Any, ...]]:
    """A statement's rows through a server-side cursor, in batches and in binary."""
    condition, parameters = scope.condition()
    cursor = opened.enter_context(connection.connection.cursor(name=f"audit_{name}", binary=True))
    cursor.execute(sql.format(condition), parameters)
    return chain.from_iterable(iter(partial(cursor.fetchmany, _BATCH), []))


def _record(thread: UUID, row: tuple[Any, ...]) -> Record:
    _, n, at, v, kind, job, actor, data, after, digest = row
    return Record(thread, n, at, v, kind, id_of_bytes(job), actor, _said(data), after, digest)


def _said(data: str) -> Any:
    """What a record says; the text itself where damage left numbers or nesting that no server wrote, and no reader takes."""
    try:
        return decode(data)
    except (ValueError, RecursionError):
        return data


def _id(raw: bytes | None) -> UUID | None:
    return None if raw is None else id_of_bytes(raw)


def _thread(row: tuple[Any, ...]) -> ThreadColumns:
    _, n, tail, last_at, head, priority, created_at, running, claimable, lane = row
    return ThreadColumns(n, tail, last_at, _id(head), priority, created_at, _id(running), claimable, id_of_bytes(lane))


def _job(row: tuple[Any, ...]) -> StoredJob:
    values = list(row[2:])
    for place in _IDS:
        if (raw := values[place]) is not None:
            values[place] = id_of_bytes(raw)
    return StoredJob(row[1], tuple(values))


def _handout(row: tuple[Any, ...]) -> Handout:
    _, token, job, fence, runner, claimed_at, ended_at, ending = row
    return Handout(id_of_bytes(token), id_of_bytes(job), fence, _id(runner), claimed_at, ended_at, ending)  # type: ignore[arg-type] # damage may leave none


def _judgement(row: tuple[Any, ...]) -> Judgement:
    _, key, token, job, submission, attempt, runner, verdict, score, most, failed, *documents, created_at = row
    keys = (id_of_bytes(key), id_of_bytes(token), id_of_bytes(job), id_of_bytes(submission), attempt, _id(runner), verdict)
    scores = (None if score is None else repr(score), None if most is None else repr(most))
    values = [*keys, *scores, failed, documents_digest(*documents), created_at]
    return Judgement(*values)
