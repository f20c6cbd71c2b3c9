"""approve, revoke, retag, forget: what an operator says of a runner, and what that does to the queue."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.conf import settings

from judging.durable import one_look, one_transaction
from judging.errors import NotFound, RunnerNotRevoked, RunnerRevoked
from judging.hold import hold_job
from judging.models import Job
from judging.states import Cause, JobState, RecordType
from judging.text import storable
from judging.wake import Concerns, announce
from runners import enrol
from runners.models import Runner, RunnerState
from runners.tags import clean_tags, note_pools


def approve(runner: UUID) -> None:
    """Let a pending key judge. Raises NotFound, and RunnerRevoked: an approval never overtakes a revocation."""
    with one_transaction():
        if enrol.approve(runner):
            return
        state = Runner.objects.filter(id=runner).values_list("state", flat=True).first()
        if state is None:
            raise NotFound
        if state == RunnerState.REVOKED:
            raise RunnerRevoked


def revoke(runner: UUID, *, by: str, reason: str) -> list[UUID]:
    """End a key for ever; the jobs it holds go back at once, their deliveries counted. Which jobs went back.

    The key ends in a transaction of its own, before its jobs are taken: from that commit on no claim can
    hand it another. A crash in between leaves the jobs to the sweep, which takes back what a revoked runner holds.
    """
    with one_transaction():
        if not enrol.revoke(runner, reason=storable(reason)) and not Runner.objects.filter(id=runner).exists():
            raise NotFound
        announce(Concerns(runner))
    with one_look():
        held = list(Job.objects.filter(runner=runner, state=JobState.RUNNING).values_list("id", flat=True))
    return [job for job in held if _take_back(job, runner=runner, by=by)]


def _take_back(job: UUID, *, runner: UUID, by: str) -> bool:
    with one_transaction():
        held = hold_job(job)
        row = held.jobs[job]
        # What has arrived before stays: the first commit decides (queue.md §5).
        if row.state is not JobState.RUNNING or row.runner != runner or row.outcome is not None:
            return False
        held.move(job, RecordType.REQUEUED, actor=by, cause=Cause.REVOKED, token=str(row.token))
        held.returned(job, actor=by)
        held.write()
    return True


def retag(runner: UUID, *, tags: Iterable[str]) -> list[str]:
    """Give a runner other tags, from its next look on; the tags as kept. Raises NotFound, TagsCount, TagsLength."""
    kept = clean_tags(tags, limits=settings.LIMITS)
    with one_transaction():
        if not Runner.objects.filter(id=runner).update(tags=kept):
            raise NotFound
        note_pools(kept)
        announce(Concerns(runner))
    return kept


def forget(runner: UUID) -> None:
    """Remove a revoked key's row. Its history stays under its id. Raises NotFound, RunnerNotRevoked."""
    with one_transaction():
        deleted, _ = Runner.objects.filter(id=runner, state=RunnerState.REVOKED).delete()
        if deleted:
            return
        if not Runner.objects.filter(id=runner).exists():
            raise NotFound
        raise RunnerNotRevoked
