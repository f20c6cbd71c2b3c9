"""A run that goes on over another connection, in whichever process (channel-protocol §4)."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from judging import queue
from judging.durable import one_transaction
from judging.hold import hold_job
from judging.models import Delivery, Job, LedgerRecord
from judging.queue import Answer
from judging.queue.beat import answer_of
from judging.states import JobState, RecordType
from judging.wake import Concerns, announce
from runners import channel_keys
from runners.channel_keys import Caller


@dataclass(frozen=True, slots=True)
class Run:
    """A job in the hands of this connection's runner, under the token it was handed out with."""

    job: UUID
    token: UUID


def resume(who: Caller, *, line: UUID, begins: bool) -> Run | Answer | None:
    """The one run that this runner holds goes on over this line; or its answer is that the run it held last is to stop.

    None says nothing: there is no run, or more than one. `begins`: the runner says that it begins now.
    """
    mine = Job.objects.filter(runner=who.runner, state=JobState.RUNNING, channel=True, outcome=None)
    held = [Run(job, token) for job, token in mine.values_list("id", "token")[:2] if token is not None]
    if not held:
        return _what_became(who)
    if len(held) > 1:
        return None
    run = held[0]
    answer = queue.take_up(run.job, token=run.token)
    if answer is Answer.ACK and begins:
        answer = queue.start(run.job, token=run.token)
    if answer is Answer.ACK:
        with one_transaction():
            channel_keys.take_line(who, line=line, token=run.token)
            announce(Concerns(who.runner))
        return run
    return answer


def _what_became(who: Caller) -> Answer | None:
    """Cancel, when the last run of this runner on the channel was taken from it, whatever became of the job then."""
    last = Delivery.objects.filter(runner=who.runner).order_by("-claimed_at").first()
    if last is None:
        return None
    leased = LedgerRecord.objects.filter(job=last.job_id, type=RecordType.LEASED, data__token=str(last.token))
    if not leased.filter(data__channel=True).exists():
        return None
    with one_transaction():
        row = hold_job(last.job_id).jobs[last.job_id]
    return Answer.CANCEL if answer_of(row, token=last.token) is Answer.CANCEL else None
