"""start and beat: what a run on the channel says while it goes on (channel-protocol §4)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from enum import Enum
from uuid import UUID

from django.conf import settings

from judging.durable import one_look, one_transaction
from judging.errors import NotFound
from judging.hold import Hold, hold_job
from judging.models import Job
from judging.queue.reap import end_overdue
from judging.queue.renew import hear
from judging.rows import JobRow, over_limit
from judging.states import JobState, RecordType
from runners.clock import Clock

ENDED = frozenset({JobState.COMPLETED, JobState.FAILED})
"""What does not stop a run: it is over here, or its outcome may still count."""


class Answer(Enum):
    """What a runner hears of the run it speaks of."""

    ACK = "go on"
    CANCEL = "stop: the job is not yours any more"


def start(job: UUID, *, token: UUID) -> Answer:
    """The run itself begins. Said again it is a heartbeat."""
    return _hear(job, token, lambda held, row: _begin(held, row) if row.started_at is None else refresh(held, row))


def beat(job: UUID, *, token: UUID) -> Answer:
    """The runner is there. Writes nothing while the stored deadline is far enough away, and then takes no lock."""
    return Answer.ACK if _is_fresh(job, token) else _hear(job, token, refresh)


def take_up(job: UUID, *, token: UUID) -> Answer:
    """The runner is there on another connection: the deadline moves at once, for the silence of the old one to mean nothing."""
    return _hear(job, token, extend)


@one_look()
def _is_fresh(job: UUID, token: UUID) -> bool:
    limits = settings.LIMITS
    held = Job.objects.filter(id=job, token=token, channel=True, outcome=None, heard=True, lease_until__gt=Clock() + limits.fresh_lease)
    row = held.annotate(now=Clock()).values("started_at", "timeout", "now").first()
    if row is None:
        return False
    return row["started_at"] is None or not over_limit(row["started_at"], row["now"], seconds=limits.hard_limit(row["timeout"]))


def _hear(job: UUID, token: UUID, note: Callable[[Hold, JobRow], object]) -> Answer:
    with one_transaction():
        try:
            held = hold_job(job)
        except NotFound:
            return Answer.CANCEL
        row = held.jobs[job]
        if row.token == token and row.channel and row.outcome is None:
            if end_overdue(held, row, actor="system") is None:
                note(held, row)
            held.write()
        return answer_of(held.jobs[job], token=token)


def answer_of(row: JobRow, *, token: UUID) -> Answer:
    """What whoever held the job under this token hears now (channel-protocol §4 and §7).

    A lease that was not claimed on the channel is nobody's here: heartbeats neither keep it nor begin its run.
    """
    return Answer.ACK if (row.token == token and row.channel) or row.state in ENDED else Answer.CANCEL


def _begin(held: Hold, row: JobRow) -> JobRow:
    lease = int(settings.LIMITS.channel_lease.total_seconds())
    return held.move(row.id, RecordType.STARTED, actor=f"runner:{row.runner}", token=str(row.token), seconds=lease)


def refresh(held: Hold, row: JobRow) -> JobRow:
    """Move the deadline out when it comes near, or only mark the delivery heard."""
    assert row.lease_until is not None
    near = row.lease_until - held.at <= settings.LIMITS.fresh_lease
    return extend(held, row) if near else hear(held, row)


def extend(held: Hold, row: JobRow) -> JobRow:
    """Move the deadline out to a whole lease from now. One who never says that the run began is not waited for longer
    than for a run; what has begun is bounded by its hard limit instead, which cancels."""
    assert row.lease_until is not None
    assert row.claimed_at is not None
    limits = settings.LIMITS
    limit = limits.hard_limit(row.timeout) if row.started_at is None else None
    until = held.at + limits.channel_lease
    if limit is not None:
        until = min(until, row.claimed_at + timedelta(seconds=limit))
    if until <= row.lease_until:
        return hear(held, row)
    seconds = int(limits.channel_lease.total_seconds())
    actor = f"runner:{row.runner}"
    return held.move(row.id, RecordType.RENEWED, actor=actor, token=str(row.token), seconds=seconds, limit=limit)
