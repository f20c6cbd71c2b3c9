"""progress: the holder says it still works; a forwarding runner says under which outside id it handed the work over."""

from __future__ import annotations

from uuid import UUID

from judging.errors import JobAdmitted, MalformedRequest
from judging.hold import Hold
from judging.queue.renew import extend
from judging.refused import hold_by_lease
from judging.rows import JobRow
from judging.states import RecordType
from judging.text import storable

OUTSIDE_ID_LENGTH = 200


def progress(job: UUID, *, token: UUID | None, runner: UUID, outside_id: str | None = None) -> None:
    """As renew, by the lease this delivery was granted: more generous than the contract, as seed 000 has it.

    With `outside_id` the job is admitted from here on: a later delivery is told that id and must resume it, not
    hand the work over again (queue.md §4). Raises what the gate raises, MalformedRequest, and JobAdmitted when
    the job is admitted under another id already; the lease is extended all the same.
    """
    outside = None if outside_id is None else _outside(outside_id)
    admitted = True
    with hold_by_lease(job, "progress", token=token, runner=runner) as held:
        row = extend(held, held.gate(job, token=token, runner=runner), lease_seconds=None)
        if outside is not None:
            admitted = _admit(held, row, outside)
        held.write()
    if not admitted:
        raise JobAdmitted


def _outside(text: str) -> str:
    outside = storable(text)
    if not outside.strip() or len(outside) > OUTSIDE_ID_LENGTH:
        raise MalformedRequest(errors={"outsideId": [f"1 to {OUTSIDE_ID_LENGTH} characters"]})
    return outside


def _admit(held: Hold, row: JobRow, outside: str) -> bool:
    """Whether the job is admitted under this id now: once and for all, or the work would be handed over twice."""
    if not row.admitted:
        held.move(row.id, RecordType.ADMITTED, actor=f"runner:{row.runner}", token=str(row.token), outside=outside)
        return True
    return row.outside_id == outside
