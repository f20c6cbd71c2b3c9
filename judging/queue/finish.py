"""finish, fail, abandon: how a run on the channel ends by its runner's word (channel-protocol §4).

Each may be said again, late, and by somebody who lost the job: what is too late is dropped without a word, because the
channel acknowledges it all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

from judging.channel import outputs
from judging.durable import one_look, one_transaction
from judging.errors import NotFound, NotStarted
from judging.hold import Hold, hold_job
from judging.models import Delivery, Outcome, OutcomeKind, ProblemVersion
from judging.queue.process import is_live
from judging.queue.reap import end_overdue
from judging.rows import JobRow
from judging.states import RecordType
from judging.text import cut, storable
from runners.keys import new_id

ERROR_BYTES = 4096
"""What is kept of a runner's error in the database; the output document has all of it."""


@dataclass(frozen=True, slots=True)
class Word:
    """A terminal message about a job under its thread's lock, as its sender's delivery stands there."""

    held: Hold
    row: JobRow
    token: UUID
    runner: UUID

    @property
    def in_hand(self) -> bool:
        """Whether the sender holds the job on the channel, and has not delivered yet."""
        holds = self.row.token == self.token and self.row.runner == self.runner
        return holds and self.row.channel and self.row.outcome is None

    @property
    def lost(self) -> bool:
        """Whether the job failed because contact with this very delivery was lost, and nothing has come since."""
        if self.row.lost != self.token or self.row.outcome is not None:
            return False
        return Delivery.objects.filter(token=self.token, runner=self.runner).exists()


def finish(job: UUID, *, runner: UUID, token: UUID | None, output: bytes, in_course: bool = False) -> UUID | None:
    """The run is complete: keep its output, and answer the outcome that is to be processed now; None when it is dropped.

    `token` is the hand-out the sender's connection was given, None: the runner's last one of this job. `in_course` says
    that the run goes on on this connection: then it must have begun. Raises NotStarted, StorageUnavailable.
    """
    with _heard(job, runner, token) as word:
        if word is None or not (word.in_hand or (word.lost and is_live(word.row.submission))):
            return None
        if word.in_hand and in_course and word.row.started_at is None:
            raise NotStarted
        outcome = _keep(word, OutcomeKind.COMPLETED, output)
        actor = f"runner:{runner}"
        word.held.move(job, RecordType.ARRIVED, actor=actor, token=str(word.token), outcome=str(outcome.id))
        return outcome.id


def fail(job: UUID, *, runner: UUID, token: UUID | None, output: bytes, error: str) -> None:
    """The run failed: the job does, with the runner's reason; no other runner tries.

    When contact had been lost its words are kept, and an outcome may still come. Raises StorageUnavailable.
    """
    with _heard(job, runner, token) as word:
        if word is None:
            return
        if word.in_hand:
            _keep(word, OutcomeKind.FAILED, output, error)
            reason = cut(storable(error), ERROR_BYTES) or "no reason given"
            word.held.move(job, RecordType.FAILED, actor=f"runner:{runner}", token=str(word.token), reason=reason)
        elif word.lost and not Outcome.objects.filter(token=word.token).exists():
            _keep(word, OutcomeKind.FAILED, output, error)


def abandon(job: UUID, *, runner: UUID, token: UUID | None) -> None:
    """The runner has stopped the run, told to or not: a job that it holds is cancelled."""
    with _heard(job, runner, token) as word:
        if word is not None and word.in_hand:
            word.held.move(job, RecordType.CANCELLED, actor=f"runner:{runner}", reason="cancelled by the runner")


@contextmanager
def _heard(job: UUID, runner: UUID, token: UUID | None) -> Iterator[Word | None]:
    """One transaction for a terminal message; None when the job was never this runner's, or is gone.

    The hard limit comes first: a run that is over it is not the runner's to end.
    """
    token = token or last_delivery(job, runner)
    if token is None:
        yield None
        return
    with one_transaction():
        try:
            held = hold_job(job)
        except NotFound:
            yield None
            return
        if held.jobs[job].token == token:
            end_overdue(held, held.jobs[job], actor="system")
        yield Word(held, held.jobs[job], token, runner)
        held.write()


@one_look()
def last_delivery(job: UUID, runner: UUID) -> UUID | None:
    """The token under which this runner held the job last."""
    return Delivery.objects.filter(job=job, runner=runner).order_by("-fence").values_list("token", flat=True).first()


def _keep(word: Word, kind: OutcomeKind, output: bytes, error: str = "") -> Outcome:
    """The output where it is read from, and its row. Under the lock, so that what lies there is what was accepted."""
    problem = ProblemVersion.objects.values_list("problem", flat=True).get(id=word.row.version)
    outputs.keep(problem, word.row.id, output)
    return Outcome.objects.create(
        id=new_id(),
        token=word.token,
        job=word.row.id,
        runner=word.runner,
        problem=problem,
        kind=kind,
        error=cut(storable(error), ERROR_BYTES),
        created_at=word.held.at,
        processed_at=None if kind is OutcomeKind.COMPLETED else word.held.at,
    )
