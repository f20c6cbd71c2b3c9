"""void: a result stops counting. Nothing is judged again behind the jury's back (queue.md §4)."""

from __future__ import annotations

from uuid import UUID

from judging.durable import one_transaction
from judging.errors import JobStateWrong
from judging.hold import hold_job
from judging.states import JobState, RecordType
from judging.text import storable
from judging.wake import Judged, announce


def void(job: UUID, *, by: str, reason: str) -> None:
    """Take a completed job's result out of the count; the job stays finished and admitted.

    Raises NotFound, and JobStateWrong when there is no result that counts.
    """
    with one_transaction():
        held = hold_job(job)
        row = held.jobs[job]
        if row.state is not JobState.COMPLETED or row.voided_at is not None:
            raise JobStateWrong("This job has no result that counts.")
        held.move(job, RecordType.VOIDED, actor=by, reason=storable(reason))
        held.write()
        announce(Judged(row.submission))
