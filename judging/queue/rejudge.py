"""rejudge: a new attempt at a submission. Never interrupts a job that a runner holds (seed 000)."""

from __future__ import annotations

from uuid import UUID

from judging.durable import one_transaction
from judging.errors import NotFound
from judging.hold import hold_thread
from judging.models import Submission
from judging.queue.opening import open_job
from judging.states import Priority
from judging.text import storable
from runners.keys import new_id


def rejudge(submission: UUID, *, by: str, reason: str, urgent: bool = False, priority: Priority | None = None) -> UUID:
    """Open the next attempt and answer its job's id; a waiting sibling is superseded by it.

    `urgent` puts it before everything else; `priority` is its class otherwise, None: that of rejudges.
    Raises NotFound for an unknown or deleted submission.
    """
    with one_transaction():
        thread = Submission.objects.filter(id=submission, deleted_at=None).values_list("thread", flat=True).first()
        if thread is None:
            raise NotFound
        held = hold_thread(thread)
        # After the lock: whoever held it may have deleted the submission, or drawn the next number (I6).
        row = Submission.objects.filter(id=submission, deleted_at=None).first()
        if row is None:
            raise NotFound
        job = new_id()
        open_job(held, row, job=job, attempt=row.attempts + 1, urgent=urgent, actor=by, reason=storable(reason), priority=priority)
        held.write()
    return job
