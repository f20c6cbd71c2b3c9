"""cancel: an operator ends an open job. Needs no lease, retires the token, says who and why (queue.md §4)."""

from __future__ import annotations

from uuid import UUID

from judging.durable import one_transaction
from judging.errors import JobStateWrong
from judging.hold import hold_job
from judging.states import OPEN, RecordType
from judging.text import storable
from judging.wake import Judged, announce


def cancel(job: UUID, *, by: str, reason: str) -> None:
    """End a waiting or held job. Raises NotFound, and JobStateWrong when it is finished, or its outcome has arrived."""
    with one_transaction():
        held = hold_job(job)
        row = held.jobs[job]
        if row.state not in OPEN:
            raise JobStateWrong(f"This job is {row.state} already; a finished job never changes.")
        if row.outcome is not None:
            raise JobStateWrong("The outcome of this job has arrived; it is being turned into a result.")
        held.move(job, RecordType.CANCELLED, actor=by, reason=storable(reason) or "cancelled")
        held.write()
        announce(Judged(row.submission))
