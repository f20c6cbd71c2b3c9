"""PURE: a job comes back without a result: to the queue, free or counted, or failed at the cap.

Authority: seed 000, seed 001, runner-protocol §6. Each raises Illegal for a row that does not allow it.
"""

from __future__ import annotations

from datetime import datetime

from judging.rows.demands import let_go, require, require_lease
from judging.rows.row import JobRow, Move
from judging.states import Cause, JobState


def give_up_reason(row: JobRow, *, cause: str) -> str:
    """The words of a failed job: the cause and the count (runner-protocol §6)."""
    return f"Given up after {row.deliveries} deliveries: {cause}"


def _counted(row: JobRow, *, cause: str, at: datetime, reason: str | None = None) -> JobRow:
    """Back to the queue with the delivery counted, or failed at the cap."""
    if row.deliveries < row.cap:
        return let_go(row)._replace(state=JobState.QUEUED, reason=reason or cause)
    words = give_up_reason(row, cause=f"{cause}: {reason}" if reason else cause)
    return let_go(row)._replace(state=JobState.FAILED, finished_at=at, reason=words)


def _free(row: JobRow, *, cause: str) -> JobRow:
    """Back to the queue with the delivery given back out of one of the two free budgets."""
    return let_go(row)._replace(state=JobState.QUEUED, deliveries=row.deliveries - 1, reason=cause)


def released(row: JobRow, move: Move) -> JobRow:
    """The first releases are free; a later one counts like everything else (seed 000)."""
    require_lease(row, move)
    if row.releases < int(move.data["free"] or 0):
        return _free(row._replace(releases=row.releases + 1), cause="released")
    return _counted(row._replace(releases=row.releases + 1), cause="released", at=move.at)


def _lost(row: JobRow, move: Move, *, cause: str) -> JobRow:
    """A hand-out never heard of is given back while refunds last; any other counts (seed 000)."""
    if not row.heard and row.refunds < int(move.data["free"] or 0):
        return _free(row._replace(refunds=row.refunds + 1), cause=cause)
    return _counted(row, cause=cause, at=move.at)


def _out_of_contact(row: JobRow, move: Move) -> JobRow:
    """As any loss; but the outcome of a run on the channel is still taken when it comes too late (seed 001)."""
    if not row.channel:
        return _lost(row, move, cause="lease expired")
    after = _lost(row, move, cause=Cause.SILENT.value)
    return after._replace(lost=row.token) if after.state is JobState.FAILED else after


def expired(row: JobRow, move: Move) -> JobRow:
    """Taken back at or after the deadline, judged by the record's own time (seed 004)."""
    require_lease(row, move)
    require(row.lease_until is not None and row.lease_until <= move.at, "expired before its deadline")
    return _out_of_contact(row, move)


def requeued(row: JobRow, move: Move) -> JobRow:
    """Taken back for a cause other than the deadline; a revocation and an operator never fail a job."""
    cause = Cause(str(move.data["cause"]))
    if cause is Cause.EXHAUSTED:
        require(row.state is JobState.QUEUED and row.deliveries >= row.cap, "given up with hand-outs left")
        words = give_up_reason(row, cause=row.reason or cause)
        return row._replace(state=JobState.FAILED, finished_at=move.at, reason=words)
    require_lease(row, move)
    if cause is Cause.UNDONE:
        require(not row.heard, "a hand-out that was heard cannot be undone")
        return _lost(row, move, cause=cause.value)
    if cause is Cause.SILENT:
        require(row.channel, "silent without a channel")
        return _out_of_contact(row, move)
    if cause is Cause.INFRASTRUCTURE:
        require(row.deliveries < row.cap, "requeued at the cap")
        return _counted(row, cause=cause.value, at=move.at, reason=str(move.data["reason"]))
    words = str(move.data.get("reason") or cause)
    return let_go(row)._replace(state=JobState.QUEUED, reason=words)
