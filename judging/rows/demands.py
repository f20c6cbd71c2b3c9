"""PURE: what moves demand of the row they meet, and how a row looks when nobody holds its job any more."""

from __future__ import annotations

from judging.ids import id_text
from judging.rows.row import Illegal, JobRow, Move
from judging.states import JobState

# A member asked of its enumeration is looked up through the class every time, and this is asked for every record.
_RUNNING = JobState.RUNNING


def require(condition: object, words: str) -> None:
    """Raises Illegal in these words unless the condition holds."""
    if not condition:
        raise Illegal(words)


def require_lease(row: JobRow, move: Move) -> None:
    """The lease named by the move must be the row's current one; a null token matches nothing (ledger.md §3).

    Raises Illegal; also when the outcome has arrived, after which the holder has no more to say.
    """
    if row.state is not _RUNNING or row.token is None:
        raise Illegal(f"{move.type} of a job nobody holds")
    if move.data.get("token") != id_text(row.token):
        raise Illegal(f"{move.type} under another lease")
    if row.outcome is not None:
        raise Illegal(f"{move.type} after its outcome arrived")


def require_lost(row: JobRow, move: Move) -> None:
    """The move must come from the delivery that was lost with the job's failure (seed 001). Raises Illegal."""
    known = row.lost is not None and move.data.get("token") == id_text(row.lost)
    require(known, f"{move.type} by somebody who was not lost")


def let_go(row: JobRow) -> JobRow:
    """The row without its lease: nobody holds it any more."""
    return row._replace(
        token=None, runner=None, claimed_at=None, lease_until=None, granted=None, heard=False,
        channel=False, started_at=None, outcome=None,
    )  # fmt: skip
