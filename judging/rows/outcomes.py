"""PURE: a run ends with what its runner says: a result, an outcome that waits to become one, or a failure.

Authority: seed 001, runner-protocol §6-7, channel-protocol §7. Each raises Illegal for a row that does not allow it.
"""

from __future__ import annotations

from judging.ids import id_of, id_text
from judging.rows.demands import let_go, require, require_lease, require_lost
from judging.rows.returning import give_up_reason
from judging.rows.row import JobRow, Move
from judging.states import Cause, JobState


def reported(row: JobRow, move: Move) -> JobRow:
    """A judged result completes the job; an infrastructure failure ends it only at the cap."""
    if row.outcome is not None:
        return _processed(row, move)
    require_lease(row, move)
    ended = let_go(row)._replace(finished_at=move.at)
    if move.data["judged"]:
        return ended._replace(state=JobState.COMPLETED, admitted=True, reason=None)
    require(row.deliveries >= row.cap, "failed with hand-outs left")
    words = give_up_reason(row, cause=f"{Cause.INFRASTRUCTURE}: {move.data['reason']}")
    return ended._replace(state=JobState.FAILED, reason=words)


def arrived(row: JobRow, move: Move) -> JobRow:
    """Once a delivery: of the holder, or of the one who was lost when nobody else was given the job."""
    outcome = id_of(str(move.data["outcome"]))
    if row.state is JobState.FAILED:
        require(row.outcome is None, "a second outcome")
        require_lost(row, move)
        return row._replace(outcome=outcome)
    require_lease(row, move)
    require(row.channel, "an outcome without a channel")
    return row._replace(outcome=outcome, heard=True)


def failed(row: JobRow, move: Move) -> JobRow:
    """The runner gives up on the channel, or the outcome it sent makes no result: no other runner tries (seed 001)."""
    if row.outcome is not None:
        _require_sender(row, move)
    else:
        require(row.state is not JobState.FAILED, "failed again")
        require_lease(row, move)
        require(row.channel, "failed without a channel")
    ended = row.finished_at or move.at
    return let_go(row)._replace(state=JobState.FAILED, finished_at=ended, reason=str(move.data["reason"]), lost=None)


def _processed(row: JobRow, move: Move) -> JobRow:
    """The stored outcome has become a result, whoever is running it through the adapter."""
    _require_sender(row, move)
    require(move.data["judged"], "an outcome without a verdict")
    return let_go(row)._replace(state=JobState.COMPLETED, finished_at=move.at, admitted=True, reason=None, lost=None)


def _require_sender(row: JobRow, move: Move) -> None:
    """The move must name the delivery whose outcome is stored: the holder's, or the one that was lost."""
    if row.state is JobState.FAILED:
        require_lost(row, move)
    else:
        require(row.token is not None and move.data.get("token") == id_text(row.token), f"{move.type} under another lease")
