"""PURE: the ledgered row of a job, and `apply`: the only place where one row becomes the next.

The verbs and the replay share it, so the tables can hold nothing the ledger does not explain.
Authority: seed 000, runner-protocol §5-8, ledger.md §3.

row         the row, a move, the refusal
demands     what moves demand of the row they meet, and the row that nobody holds
opening     submitted, baseline, and a row out of its document
leasing     leased, renewed, started, heard, admitted
returning   released, expired, requeued
outcomes    reported, arrived, failed
decisions   cancelled, superseded, displaced, prioritised, voided, delete_marked
"""

from __future__ import annotations

from collections.abc import Callable

from judging.rows.decisions import cancelled, delete_marked, over_limit, prioritised, superseded, voided
from judging.rows.leasing import admitted, heard, leased, renewed, started
from judging.rows.opening import baseline, row_of, submitted
from judging.rows.outcomes import arrived, failed, reported
from judging.rows.returning import expired, released, requeued
from judging.rows.row import DEFAULT_TIMEOUT_SECONDS, Illegal, JobRow, Move, Scalar, column_of
from judging.states import MOVES, OPEN, RecordType

__all__ = ["DEFAULT_TIMEOUT_SECONDS", "Illegal", "JobRow", "Move", "Scalar", "apply", "column_of", "over_limit", "row_of"]


def _unchanged(row: JobRow, move: Move) -> JobRow:
    """A refused call is on record and moves nothing."""
    return row


_APPLY: dict[RecordType, Callable[[JobRow, Move], JobRow]] = {
    RecordType.LEASED: leased,
    RecordType.DISPLACED: superseded,
    RecordType.RENEWED: renewed,
    RecordType.STARTED: started,
    RecordType.HEARD: heard,
    RecordType.ADMITTED: admitted,
    RecordType.RELEASED: released,
    RecordType.EXPIRED: expired,
    RecordType.REQUEUED: requeued,
    RecordType.ARRIVED: arrived,
    RecordType.REPORTED: reported,
    RecordType.FAILED: failed,
    RecordType.CANCELLED: cancelled,
    RecordType.SUPERSEDED: superseded,
    RecordType.PRIORITISED: prioritised,
    RecordType.VOIDED: voided,
    RecordType.DELETE_MARKED: delete_marked,
    RecordType.REFUSED: _unchanged,
}


def apply(row: JobRow | None, move: Move) -> JobRow:
    """The row this move leaves behind. Raises Illegal when the published rules refuse the move.

    `data` that lacks what its type needs raises KeyError, ValueError or TypeError: no server wrote it.
    """
    if move.type is RecordType.SUBMITTED:
        return submitted(row, move)
    if move.type is RecordType.BASELINE:
        return baseline(row, move)
    if row is None:
        raise Illegal(f"{move.type} of an unknown job")
    after = _APPLY[move.type](row, move)
    if after.state is row.state:
        return after
    if after.state not in MOVES[row.state]:
        raise Illegal(f"{row.state} may not become {after.state}")
    # The thread's event number at that moment: "is what I read final yet?" has an answer (seed 003).
    return after if after.state in OPEN else after._replace(closed_at_seq=move.n)
