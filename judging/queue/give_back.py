"""give_back: an operator returns a held job to the queue, fencing off its holder (queue.md §4)."""

from __future__ import annotations

from uuid import UUID

from judging.durable import one_transaction
from judging.errors import JobStateWrong
from judging.hold import hold_job
from judging.states import Cause, JobState, RecordType
from judging.text import storable


def give_back(job: UUID, *, by: str, reason: str) -> None:
    """Take a running job from its holder; the delivery stays counted, and this never fails the job.

    Raises NotFound, and JobStateWrong when nobody holds it.
    """
    with one_transaction():
        held = hold_job(job)
        row = held.jobs[job]
        if row.state is not JobState.RUNNING or row.outcome is not None:
            raise JobStateWrong("Nobody holds this job.")
        words = storable(reason) or None
        held.move(job, RecordType.REQUEUED, actor=by, cause=Cause.OPERATOR, token=str(row.token), reason=words)
        held.returned(job, actor=by)
        held.write()
