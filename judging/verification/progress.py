"""How far a verification is, and what each of the jury's submissions was expected and found to get."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count, OuterRef, Subquery

from judging.models import Job, PromiseState, Verification, VerificationItem
from judging.states import JobState
from judging.verification.promise import in_words


@dataclass(frozen=True, slots=True)
class Row:
    """One submission; `now` is its item's state, or its job's while that is open."""

    item: VerificationItem
    expected: str
    now: str


@dataclass(frozen=True, slots=True)
class Tally:
    """How many submissions of each kind; `unjudged` never get a verdict."""

    kept: int
    broken: int
    unjudged: int
    open: int

    @classmethod
    def of(cls, by: Mapping[str, int]) -> Tally:
        """Out of how many are in each state."""
        return cls(
            kept=by.get(PromiseState.KEPT, 0),
            broken=by.get(PromiseState.BROKEN, 0),
            unjudged=by.get(PromiseState.SKIPPED, 0) + by.get(PromiseState.ENDED, 0),
            open=by.get(PromiseState.WAITING, 0) + by.get(PromiseState.SENT, 0),
        )

    @property
    def over(self) -> int:
        """How many have a verdict or never will."""
        return self.kept + self.broken + self.unjudged

    @property
    def total(self) -> int:
        return self.over + self.open

    @property
    def summary(self) -> str:
        """What came of it so far, in a sentence."""
        if self.open:
            return f"{self.over} of {self.total} compared so far: {self.kept} as promised, {self.broken} not."
        if self.kept == self.total:
            return f"All {self.kept} as promised."
        return f"{self.kept} as promised, {self.broken} not{f', {self.unjudged} not judged' if self.unjudged else ''}."


@dataclass(frozen=True, slots=True)
class Progress:
    """All rows, and how many of each kind."""

    rows: list[Row]
    tally: Tally


def tallies(batches: Iterable[Verification]) -> dict[UUID, Tally]:
    """Of many, in one query."""
    by: dict[UUID, dict[str, int]] = {batch.id: {} for batch in batches}
    counted = VerificationItem.objects.filter(verification__in=list(by)).values_list("verification", "state")
    for batch, state, number in counted.annotate(n=Count("id")).order_by():
        by[batch][state] = number
    return {batch: Tally.of(states) for batch, states in by.items()}


def progress(batch: Verification) -> Progress:
    """In one query."""
    state = Subquery(Job.objects.filter(id=OuterRef("job")).values("state")[:1])
    items = list(batch.items.annotate(at=state).select_related("submission").order_by("id"))
    rows = [Row(item, in_words(item.promise), _now(item)) for item in items]
    return Progress(rows, Tally.of(Counter(item.state for item in items)))


def _now(item: VerificationItem) -> str:
    if item.state != PromiseState.SENT:
        return str(item.get_state_display())
    at = getattr(item, "at", None)
    return "queued" if at == JobState.QUEUED else "being judged" if at == JobState.RUNNING else "being compared"
