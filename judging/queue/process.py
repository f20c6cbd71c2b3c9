"""process: a stored outcome becomes a result through its problem's adapter (channel-protocol §5)."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from uuid import UUID

from django.conf import settings

from judging.channel import outputs
from judging.channel.adapters import Unreadable, verdict_of
from judging.durable import one_look, one_transaction
from judging.errors import NotFound, Refusal
from judging.hold import Hold, hold_job
from judging.models import Outcome, OutcomeKind, Problem, Submission
from judging.queue.report import judge
from judging.queue.result import Report
from judging.rows import JobRow
from judging.states import RecordType
from runners.clock import Clock

LEFT_OVER = timedelta(seconds=5)
"""How long an outcome may wait for whoever stored it, before the sweep takes it for interrupted."""
_BATCH = 500


def process(outcome: UUID) -> bool:
    """Turn an outcome into its job's result, or fail the job with the reason why it makes none; whether this call did.

    Any number may do it at once. Raises StorageUnavailable; then the sweep tries again.
    """
    with one_look():
        row = Outcome.objects.filter(id=outcome, kind=OutcomeKind.COMPLETED, processed_at=None).first()
        said = None if row is None else _said(row)
    if row is None or said is None:
        return False
    with one_transaction():
        ended = _end(row, said)
        Outcome.objects.filter(id=outcome, processed_at=None).update(processed_at=Clock())
    return ended


@one_look()
def left_over() -> list[UUID]:
    """Outcomes that nobody came to process, the oldest first."""
    late = Outcome.objects.filter(processed_at=None, created_at__lte=Clock() - LEFT_OVER).order_by("created_at")
    return list(late.values_list("id", flat=True)[:_BATCH])


def is_live(submission: UUID) -> bool:
    """What was deleted stays deleted, whatever comes in after (queue.md §4)."""
    return Submission.objects.filter(id=submission, deleted_at=None).exists()


def _said(outcome: Outcome) -> Report | str:
    """What the outcome reports, or why it reports nothing."""
    document = outputs.read(outcome.problem, outcome.job)
    if document is None:
        return "the output document is gone"
    adapter = Problem.objects.values_list("adapter", flat=True).get(id=outcome.problem)
    try:
        found = verdict_of(document, adapter=adapter, limits=settings.LIMITS)
        return Report(**asdict(found))
    except Unreadable as reason:
        return str(reason)


def _end(outcome: Outcome, said: Report | str) -> bool:
    """Whether the job still waited for this outcome. Deleted while it ran, it does not; one that had failed stays failed."""
    try:
        held = hold_job(outcome.job)
    except NotFound:
        return False
    row = held.jobs[outcome.job]
    if row.outcome != outcome.id:
        return False
    whose = row._replace(token=outcome.token, runner=outcome.runner)
    if not is_live(row.submission):
        _fail(held, whose, "the submission was deleted meanwhile")
    elif isinstance(said, str):
        _fail(held, whose, said)
    else:
        try:
            judge(held, whose, said)
        except Refusal as refused:
            _fail(held, whose, refused.detail)
    held.write()
    return True


def _fail(held: Hold, row: JobRow, reason: str) -> None:
    words = f"the output makes no result: {reason}"
    held.move(row.id, RecordType.FAILED, actor="system", token=str(row.token), reason=words)
