"""feed: the ledger across threads, in an order in which nothing is ever lost (ledger.md §5).

Ids are drawn in one order and committed in another: a reader that remembers the last id passes over a transaction that
was still under way. Here records come in the order of their transactions, and only those of transactions older than
every one still running, so that nothing can appear behind a reader.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.db import connection

from judging.durable import one_transaction
from judging.errors import MalformedRequest, Refusal
from judging.records import Record

MOST = 1_000
_LAST_ID = 2**63 - 1

# The horizon is read before the records are: of transactions below it none is still to come, whatever commits between.
_HERE = """
SELECT judge_server(), pg_snapshot_xmin(pg_current_snapshot())::text, e.number, e.server, e.first_id
FROM (SELECT 1) one LEFT JOIN judging_feedepoch e ON e.number = (SELECT max(number) FROM judging_feedepoch)
"""
_COLUMNS = "r.thread, r.n, r.at, r.v, r.type, r.job, r.actor, r.data::text, r.after, r.hash"
_IN_LANES = "(%(lanes)s::uuid[] IS NULL OR r.thread IN (SELECT id FROM judging_thread WHERE lane_id = ANY (%(lanes)s)))"
# Older epochs: another server's transaction numbers say nothing here, but all of it was there when this epoch began.
_SETTLED = f"""
SELECT '0', r.id, {_COLUMNS} FROM judging_ledgerrecord r
WHERE r.id > %(id)s AND r.id < %(first)s AND {_IN_LANES} ORDER BY r.id LIMIT %(limit)s
"""
_LIVE = f"""
SELECT r.xid::text, r.id, {_COLUMNS} FROM judging_ledgerrecord r
WHERE (r.xid, r.id) > (%(xid)s::text::xid8, %(id)s) AND r.xid < %(horizon)s::text::xid8 AND r.id >= %(first)s AND {_IN_LANES}
ORDER BY r.xid, r.id LIMIT %(limit)s
"""


class CursorOutdated(Refusal):
    """The database was restored since this cursor was given out: start again without one."""

    code = "feed.cursor.outdated"
    status = HTTPStatus.GONE


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far a reader has come. `xid` is 0 while it reads what was there before the epoch began."""

    epoch: int
    xid: int = 0
    id: int = 0

    def __str__(self) -> str:
        return f"{self.epoch}.{self.xid}.{self.id}"

    @classmethod
    def read(cls, text: str) -> Cursor:
        """A cursor from its text. Raises MalformedRequest."""
        parts = text.split(".")
        if len(parts) != 3 or not all(part.isascii() and part.isdigit() and len(part) < 20 for part in parts):
            raise MalformedRequest(errors={"cursor": ["not a cursor of this feed"]})
        return cls(*map(int, parts))


@dataclass(frozen=True, slots=True)
class Page:
    """Some records, and the cursor after them; an empty page may still move it on."""

    records: tuple[Record, ...]
    cursor: Cursor


@dataclass(frozen=True, slots=True)
class _Here:
    """The epoch that is current, and the oldest transaction still running."""

    epoch: int
    first: int
    horizon: int


def read(after: Cursor | None = None, *, limit: int = MOST, lanes: Iterable[UUID] | None = None) -> Page:
    """The records after a cursor, from the beginning without one; of these lanes only, if any are named.

    Raises CursorOutdated when the cursor is of another epoch.
    """
    here = _here() or _begin_epoch()
    after = after or Cursor(here.epoch)
    if after.epoch != here.epoch:
        raise CursorOutdated
    limit = min(limit, MOST)
    values = {"first": here.first, "horizon": str(here.horizon), "lanes": None if lanes is None else list(lanes)}
    found: list[tuple[Any, ...]] = []
    if after.xid == 0:
        found = _fetch(_SETTLED, values | {"id": after.id, "limit": limit})
    if len(found) < limit:
        start = {"xid": str(after.xid), "id": after.id if after.xid else 0}
        found += _fetch(_LIVE, values | start | {"limit": limit - len(found)})
    return Page(tuple(_record(row[2:]) for row in found), _moved(after, found, here, whole=len(found) < limit))


def _moved(after: Cursor, found: list[tuple[Any, ...]], here: _Here, *, whole: bool) -> Cursor:
    """The cursor after what was found; all the way to the horizon when there was no more."""
    reached = Cursor(after.epoch, int(found[-1][0]), found[-1][1]) if found else after
    if not whole or here.horizon - 1 < max(reached.xid, 1):
        return reached
    return Cursor(after.epoch, here.horizon - 1, _LAST_ID)


def _fetch(statement: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def _record(row: tuple[Any, ...]) -> Record:
    thread, n, at, v, kind, job, actor, data, after, digest = row
    return Record(thread, n, at, v, kind, job, actor, json.loads(data), after, digest)


def _here() -> _Here | None:
    """The current epoch; None when it has yet to begin: at the first look ever, and after a restore."""
    with connection.cursor() as cursor:
        cursor.execute(_HERE)
        server, horizon, number, known, first = cursor.fetchone()
    return _Here(number, first, int(horizon)) if number is not None and known == server else None


def _begin_epoch() -> _Here:
    """Draw the line between what another server wrote and what this one writes.

    The lock waits for every writer under way, so that whatever has a lower id is either here now or never will be.
    """
    with one_transaction(), connection.cursor() as cursor:
        cursor.execute("LOCK TABLE judging_ledgerrecord IN SHARE MODE")
        if _here() is None:
            cursor.execute(
                "INSERT INTO judging_feedepoch (number, server, first_id) "
                "SELECT coalesce((SELECT max(number) FROM judging_feedepoch), 0) + 1, judge_server(), "
                "coalesce((SELECT max(id) FROM judging_ledgerrecord), 0) + 1"
            )
    here = _here()
    assert here is not None
    return here
