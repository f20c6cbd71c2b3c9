"""lose: a runner on the channel is connected and silent (channel-protocol §4)."""

from __future__ import annotations

from enum import StrEnum
from uuid import UUID

from django.conf import settings

from judging.durable import one_transaction
from judging.errors import NotFound
from judging.hold import Hold, hold_job
from judging.queue.reap import end_overdue
from judging.rows import JobRow
from judging.rules import Overdue, overdue
from judging.states import Cause, RecordType


class Silence(StrEnum):
    """What became of the job of a silent runner, in the words its connection is closed with."""

    HEARTBEAT_TIMEOUT = "heartbeat_timeout"
    JOB_TIMEOUT_EXCEEDED = "job_timeout_exceeded"


def lose(job: UUID, *, token: UUID) -> Silence:
    """End a delivery whose runner was silent for the whole heartbeat timeout: over its limit the job is cancelled, else
    it goes back to the queue, or fails at its cap.

    Does nothing when somebody else was heard under this token: then the deadline is further away than silence leaves it.
    """
    with one_transaction():
        try:
            held = hold_job(job)
        except NotFound:
            return Silence.HEARTBEAT_TIMEOUT
        row = held.jobs[job]
        if row.token != token or not row.channel or row.outcome is not None or _heard_elsewhere(held, row):
            return Silence.HEARTBEAT_TIMEOUT
        limit_exceeded = overdue(row, held.at, limits=settings.LIMITS) is Overdue.LIMIT
        if end_overdue(held, row, actor="system") is None:
            free = settings.LIMITS.free_refunds
            held.move(job, RecordType.REQUEUED, actor="system", cause=Cause.SILENT, token=str(token), free=free)
            held.returned(job, actor="system")
        held.write()
    return Silence.JOB_TIMEOUT_EXCEEDED if limit_exceeded else Silence.HEARTBEAT_TIMEOUT


def _heard_elsewhere(held: Hold, row: JobRow) -> bool:
    return row.lease_until is not None and row.lease_until - held.at > settings.LIMITS.silent_lease
