"""PURE: what is decided over a job's head: by an operator, by a newer job, or with the submission that is deleted.

Authority: seed 000, seed 001, queue.md §4. Each raises Illegal for a row that cannot be decided so.
"""

from __future__ import annotations

from datetime import datetime

from judging.ids import id_of
from judging.rows.demands import let_go, require
from judging.rows.row import JobRow, Move
from judging.states import OPEN, JobState


def over_limit(started_at: datetime, at: datetime, *, seconds: int) -> bool:
    """Whether more whole seconds have gone by than a run may take (channel-protocol §4)."""
    return int((at - started_at).total_seconds()) > seconds


def cancelled(row: JobRow, move: Move) -> JobRow:
    """An open job ends with the reason given; `limit`, where there is one, is the seconds of a run it must be over."""
    require(row.state in OPEN, "cancelled after it was finished")
    require(row.outcome is None, "cancelled after its outcome arrived")
    limit = move.data.get("limit")
    if limit is not None:
        within = row.started_at is None or not over_limit(row.started_at, move.at, seconds=int(limit))
        require(not within, "cancelled for a limit it did not exceed")
    words = str(move.data["reason"])
    return let_go(row)._replace(state=JobState.CANCELLED, finished_at=move.at, reason=words)


def delete_marked(row: JobRow, move: Move) -> JobRow:
    """An open job ends with its submission, and says so by its mark."""
    require(row.state in OPEN, "marked after it was finished")
    return let_go(row)._replace(state=JobState.CANCELLED, finished_at=move.at, reason="deleted", marked=True)


def superseded(row: JobRow, move: Move) -> JobRow:
    """A waiting job that was never handed over gives way to the one named by `by`."""
    require(row.state is JobState.QUEUED, "superseded while not queued")
    require(not row.admitted, "superseded after it was admitted")
    by = id_of(str(move.data["by"]))
    words = "replaced by a newer job"
    return row._replace(state=JobState.SUPERSEDED, finished_at=move.at, replaced_by=by, reason=words)


def prioritised(row: JobRow, move: Move) -> JobRow:
    """An open job is put in another class."""
    require(row.state in OPEN, "prioritised after it was finished")
    return row._replace(priority=int(move.data["priority"] or 0))


def voided(row: JobRow, move: Move) -> JobRow:
    """The result of a completed job counts no more, once."""
    require(row.state is JobState.COMPLETED and row.voided_at is None, "voided without a counting result")
    return row._replace(voided_at=move.at)
