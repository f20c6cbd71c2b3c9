"""PURE: how a job comes to be in the ledger: it is submitted, or it was there before (ledger.md §1)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from judging.ids import id_of
from judging.rows.demands import require
from judging.rows.row import DEFAULT_TIMEOUT_SECONDS, JobRow, Move, Scalar
from judging.states import JobState

_IDS = {"id", "thread", "submission", "lane", "version", "token", "runner", "replaced_by", "outcome", "lost"}
_MOMENTS = {"created_at", "claimed_at", "lease_until", "finished_at", "voided_at", "started_at"}


def submitted(row: JobRow | None, move: Move) -> JobRow:
    """A new job waits. Raises Illegal for one that exists."""
    require(row is None, "submitted twice")
    data = move.data
    return JobRow(
        id=move.job,
        thread=id_of(str(data["thread"])),
        submission=id_of(str(data["submission"])),
        lane=id_of(str(data["lane"])),
        version=id_of(str(data["version"])),
        attempt=int(data["attempt"] or 0),
        priority=int(data["priority"] or 0),
        urgent=bool(data["urgent"]),
        cap=int(data["cap"] or 0),
        created_at=move.at,
        timeout=int(data.get("timeout") or DEFAULT_TIMEOUT_SECONDS),
    )


def row_of(document: Mapping[str, Scalar]) -> JobRow:
    """The row that a document tells of, as `judging.records.row_document` writes one.

    Raises KeyError, ValueError or TypeError for what no server wrote.
    """
    values: dict[str, Any] = {name: document[name] for name in JobRow._fields}
    values |= {name: id_of(str(values[name])) for name in _IDS if values[name] is not None}
    values |= {name: datetime.fromisoformat(str(values[name])) for name in _MOMENTS if values[name] is not None}
    return JobRow(**values | {"state": JobState(str(values["state"]))})


def baseline(row: JobRow | None, move: Move) -> JobRow:
    """The whole row is in the record: it stood like this when the ledger began. Raises Illegal for one that exists."""
    require(row is None, "baseline of a job that the ledger tells of already")
    stood = row_of(move.data)
    require(stood.id == move.job, "baseline of another job")
    return stood
