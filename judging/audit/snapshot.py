"""One consistent look at the ledger and at everything it explains, thread by thread (ledger.md §4).

The streams, each ordered by thread, are read side by side through server-side cursors of one repeatable-read transaction:
memory holds one thread at a time, and writers are neither stopped nor half seen.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import chain
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection, transaction

from judging.audit.streams import STREAMS, Rows, record, tables
from judging.ids import id_of_bytes
from judging.models import Audit, AuditScope
from judging.records import Record
from judging.replay import Tables

_BATCH = 2_000


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

    def take(self, key: bytes) -> Rows:
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
        found = tables(**rows)
        yield ThreadView(thread, [record(thread, row) for row in told], found)


def _rows(opened: ExitStack, name: str, sql: str, scope: Scope) -> Iterator[tuple[Any, ...]]:
    """A statement's rows through a server-side cursor, in batches and in binary."""
    condition, parameters = scope.condition()
    cursor = opened.enter_context(connection.connection.cursor(name=f"audit_{name}", binary=True))
    cursor.execute(sql.format(condition), parameters)
    return chain.from_iterable(iter(partial(cursor.fetchmany, _BATCH), []))
