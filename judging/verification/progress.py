"""How far a verification is, and what each of the jury's submissions was expected and found to get."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from django.db.models import OuterRef, Subquery

from judging.models import Job, VerdictOnItem, Verification, VerificationItem
from judging.states import JobState
from judging.verification.promise import in_words


@dataclass(frozen=True, slots=True)
class Row:
    """One submission; `now` is its item's state, or its job's while that is open."""

    item: VerificationItem
    expected: str
    now: str


@dataclass(frozen=True, slots=True)
class Progress:
    """All rows, and how many of each kind. `over` have a verdict or never will."""

    rows: list[Row]
    kept: int
    broken: int
    skipped: int
    ended: int
    open: int

    @property
    def over(self) -> int:
        return len(self.rows) - self.open

    @property
    def summary(self) -> str:
        """What came of it so far, in a sentence."""
        if self.open:
            return f"{self.over} of {len(self.rows)} compared so far: {self.kept} as promised, {self.broken} not."
        if self.kept == len(self.rows):
            return f"All {self.kept} as promised."
        unjudged = self.skipped + self.ended
        return f"{self.kept} as promised, {self.broken} not{f', {unjudged} not judged' if unjudged else ''}."


def progress(batch: Verification) -> Progress:
    """In one query."""
    state = Subquery(Job.objects.filter(id=OuterRef("job")).values("state")[:1])
    items = list(batch.items.annotate(at=state).select_related("submission").order_by("id"))
    by = Counter(item.state for item in items)
    return Progress(
        rows=[Row(item, in_words(item.promise), _now(item)) for item in items],
        kept=by[VerdictOnItem.KEPT],
        broken=by[VerdictOnItem.BROKEN],
        skipped=by[VerdictOnItem.SKIPPED],
        ended=by[VerdictOnItem.ENDED],
        open=by[VerdictOnItem.WAITING] + by[VerdictOnItem.SENT],
    )


def _now(item: VerificationItem) -> str:
    if item.state != VerdictOnItem.SENT:
        return str(item.get_state_display())
    at = getattr(item, "at", None)
    return "queued" if at == JobState.QUEUED else "being judged" if at == JobState.RUNNING else "being compared"
