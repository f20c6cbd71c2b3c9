"""undo_handout: the client was gone before the answer was written (runner-protocol §7)."""

from __future__ import annotations

from uuid import UUID

from django.conf import settings

from judging.durable import one_transaction
from judging.errors import NotFound
from judging.hold import hold_job
from judging.states import Cause, JobState, RecordType


def undo_handout(job: UUID, *, token: UUID) -> None:
    """Take back a hand-out whose answer never left, if it is still current and was never heard of.

    Does nothing otherwise: whoever holds the job now holds it rightly.
    """
    with one_transaction():
        try:
            held = hold_job(job)
        except NotFound:
            return
        row = held.jobs[job]
        if row.state is not JobState.RUNNING or row.token != token or row.heard:
            return
        free = settings.LIMITS.free_refunds
        held.move(job, RecordType.REQUEUED, actor="system", cause=Cause.UNDONE, token=str(token), free=free)
        held.returned(job, actor="system")
        held.write()
