"""replace_channel_key, add_channel_runner: an operator gives a runner its key for the channel (channel-protocol §1)."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from judging.durable import one_look, one_transaction
from judging.errors import NotFound, RunnerNotApproved
from judging.hold import hold_job
from judging.models import Job
from judging.states import Cause, JobState, RecordType
from judging.text import storable
from judging.wake import Concerns, announce
from runners import channel_keys
from runners.models import Runner, RunnerState


def replace_channel_key(runner: UUID, *, by: str) -> str:
    """A new key, told this once. Whoever is connected by an older one is cut off, and what it holds goes back at once.

    Raises NotFound, RunnerNotApproved. The key changes in a transaction of its own, before the jobs are taken: from
    that commit on the old one claims nothing. A crash in between leaves the jobs to their leases.
    """
    with one_transaction():
        row = Runner.objects.select_for_update().filter(id=runner).first()
        if row is None:
            raise NotFound
        if row.state != RunnerState.APPROVED:
            raise RunnerNotApproved
        key, replaced = channel_keys.replace(row)
        announce(Concerns(runner))
    if replaced:
        on_channel = Job.objects.filter(runner=runner, state=JobState.RUNNING, channel=True)
        with one_look():
            held = list(on_channel.values_list("id", flat=True))
        for job in held:
            _take_back(job, runner=runner, by=by)
    return key


def add_channel_runner(name: str, *, problem_types: Iterable[str], tags: Iterable[str]) -> tuple[UUID, str]:
    """An approved runner that only ever speaks on the channel, with its key, told this once. Raises TagsCount, TagsLength."""
    with one_transaction():
        row = channel_keys.add_runner(storable(name), problem_types=problem_types, tags=tags)
        key, _ = channel_keys.replace(row)
    return row.id, key


def _take_back(job: UUID, *, runner: UUID, by: str) -> None:
    with one_transaction():
        held = hold_job(job)
        row = held.jobs[job]
        if row.runner == runner and row.channel and row.outcome is None:
            held.move(job, RecordType.REQUEUED, actor=by, cause=Cause.KEY_REPLACED, token=str(row.token))
            held.returned(job, actor=by)
            held.write()
