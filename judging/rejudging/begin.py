"""begin: what was chosen becomes a rejudging, with what it leaves out and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection
from django.db.models.expressions import RawSQL

from judging.durable import one_transaction
from judging.errors import Refusal
from judging.models import ItemState, Job, Rejudging, RejudgingItem, RejudgingState, Submission
from judging.states import OPEN, JobState, Priority
from judging.text import storable

MOST = 20_000
MOST_REPEATS = 20
LIVE = (RejudgingState.WORKING, RejudgingState.OPEN, RejudgingState.CANCELLING)
_ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(hashtextextended('rejudging', 0))"
CHUNK = 1000


class NothingChosen(Refusal):
    """There is nothing to judge again."""

    code = "rejudging.empty"


class TooManyChosen(Refusal):
    """These are more submissions than one rejudging takes; narrow the filter."""

    code = "rejudging.tooMany"


@dataclass(frozen=True, slots=True)
class Wanted:
    """How to judge again: see `judging.models.Rejudging`."""

    reason: str
    chosen: str = ""
    urgent: bool = False
    priority: Priority | None = None
    aside: bool = False
    repeats: int = 1
    organization: UUID | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """What a rejudging of these submissions would meet. `waiting` and `elsewhere` would be skipped."""

    submissions: int
    waiting: int
    running: int
    withdrawn: int
    elsewhere: int


def preview(submissions: Sequence[UUID]) -> Preview:
    """Count, by what each submission is doing now."""
    gone = Submission.objects.filter(id__in=_among(submissions), deleted_at__isnull=False).count()
    states: Counter[str] = Counter()
    seen = Job.objects.filter(submission__in=_among(submissions), state__in=OPEN).values_list("submission", "state").distinct()
    for _, state in seen:
        states[state] += 1
    return Preview(len(submissions), states[JobState.QUEUED], states[JobState.RUNNING], gone, len(_elsewhere(submissions)))


def begin(submissions: Sequence[UUID], *, by: str, wanted: Wanted) -> UUID:
    """Store the decision; `work_off` opens the attempts. The rejudging's id.

    A submission that another live rejudging has is left out with a note that names it: two that begin at once are
    serialised, so that one of them sees the other. Raises NothingChosen, TooManyChosen.
    """
    if not submissions:
        raise NothingChosen
    if len(submissions) > MOST or len(submissions) * wanted.repeats > MOST * 2:
        raise TooManyChosen(f"One rejudging takes at most {MOST:,} submissions; narrow the filter.")
    with one_transaction():
        with connection.cursor() as cursor:
            cursor.execute(_ONE_AT_A_TIME)
        batch = Rejudging.objects.create(
            organization=wanted.organization,
            by=by,
            reason=storable(wanted.reason),
            chosen=storable(wanted.chosen)[:500],
            urgent=wanted.urgent,
            priority=wanted.priority,
            aside=wanted.aside,
            repeats=wanted.repeats,
        )
        elsewhere = _elsewhere(submissions)
        items = (_item(batch, each, run, elsewhere) for run in range(1, wanted.repeats + 1) for each in dict.fromkeys(submissions))
        RejudgingItem.objects.bulk_create(items, batch_size=CHUNK)
    return batch.id


def _item(batch: Rejudging, submission: UUID, run: int, elsewhere: dict[UUID, str]) -> RejudgingItem:
    note = elsewhere.get(submission, "")
    state = ItemState.SKIPPED if note else ItemState.WAITING
    return RejudgingItem(rejudging=batch, submission_id=submission, run=run, state=state, note=note, aside=batch.aside)


def _among(submissions: Sequence[UUID]) -> RawSQL:
    """These ids as one parameter: thousands of placeholders cost more than the question."""
    return RawSQL("SELECT unnest(%s::uuid[])", [list(submissions)])


def _elsewhere(submissions: Sequence[UUID]) -> dict[UUID, str]:
    """Those that another live rejudging has, each with the words for it."""
    live = RejudgingItem.objects.filter(submission__in=_among(submissions), rejudging__state__in=LIVE).exclude(state=ItemState.SKIPPED)
    return {submission: f"rejudging …{str(batch)[-12:]} has it" for submission, batch in live.values_list("submission", "rejudging")}
