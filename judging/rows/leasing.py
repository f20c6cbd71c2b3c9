"""PURE: a runner takes a job, and is heard of while it holds it.

Authority: runner-protocol §4-5, channel-protocol §4. Each raises Illegal for a row that does not allow it.
"""

from __future__ import annotations

from datetime import timedelta

from judging.ids import id_of
from judging.rows.demands import require, require_lease
from judging.rows.row import JobRow, Move
from judging.states import JobState

_QUEUED, _RUNNING = JobState.QUEUED, JobState.RUNNING


def leased(row: JobRow, move: Move) -> JobRow:
    """A waiting job with hand-outs left is held under a new token for `granted` seconds."""
    require(row.state is _QUEUED, "leased while not queued")
    require(row.deliveries < row.cap, "leased past the cap")
    granted = int(move.data["granted"] or 0)
    require(granted > 0, "leased for no time")
    return row._replace(
        state=_RUNNING,
        fence=row.fence + 1,
        deliveries=row.deliveries + 1,
        token=id_of(str(move.data["token"])),
        runner=id_of(str(move.data["runner"])),
        claimed_at=move.at,
        lease_until=move.at + timedelta(seconds=granted),
        granted=granted,
        heard=False,
        reason=None,
        channel=bool(move.data.get("channel")),
    )


def renewed(row: JobRow, move: Move) -> JobRow:
    """Renewing never shortens: the later of the deadline held and the one asked for (seed 000).

    `limit`, where there is one, is how many seconds after the claim no renewal leads beyond (channel-protocol §4).
    """
    require_lease(row, move)
    asked = move.at + timedelta(seconds=int(move.data["seconds"] or 0))
    limit = move.data.get("limit")
    if limit is not None and row.claimed_at is not None:
        asked = min(asked, row.claimed_at + timedelta(seconds=int(limit)))
    held = row.lease_until or asked
    return row._replace(lease_until=max(held, asked), heard=True)


def started(row: JobRow, move: Move) -> JobRow:
    """The holder says on the channel, once a delivery, that the run begins; it renews the lease too."""
    require(row.channel and row.started_at is None, "started twice, or not on the channel")
    return renewed(row, move)._replace(started_at=move.at)


def heard(row: JobRow, move: Move) -> JobRow:
    """The holder spoke: this delivery counts from now on, whatever becomes of it."""
    require_lease(row, move)
    return row._replace(heard=True)


def admitted(row: JobRow, move: Move) -> JobRow:
    """An outside judge has it under this id, which a repeat may not change."""
    require_lease(row, move)
    outside = str(move.data["outside"])
    require(row.outside_id in {None, outside}, "admitted under a second outside id")
    return row._replace(admitted=True, outside_id=outside, heard=True)
