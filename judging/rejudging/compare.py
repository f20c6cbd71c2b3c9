"""What a rejudging has done so far, and what its results change. Read in a few queries, however many items."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Count, OuterRef, Subquery

from judging.models import ItemState, Job, Rejudging, RejudgingState, Result, Submission
from judging.rejudging.counting import overtaken, standing
from judging.states import JobState

NOTHING, GIVEN_UP, OPEN_STILL = "no verdict", "given up", "not judged yet"
MOST_CHANGES = 500
CHUNK = 2000


@dataclass(frozen=True, slots=True)
class Progress:
    """Items by what became of them; `skipped` counts by note."""

    total: int
    waiting: int
    queued: int
    running: int
    judged: int
    given_up: int
    ended: int
    skipped: dict[str, int]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict word, or what stands for it, and points where there are any."""

    words: str
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """A submission whose verdict or score is another one now. `unsteady`: its runs did not agree."""

    submission: Submission
    old: Verdict
    new: Verdict
    unsteady: bool


@dataclass(frozen=True, slots=True)
class Standing:
    """The best score of an author in a lane, before and after; None where there is none."""

    author: UUID | None
    lane: UUID
    old: float | None
    new: float | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """`matrix` counts submissions by (old, new) verdict word. `changes` is cut at MOST_CHANGES, `more` are left out.

    `overtaken` counts those that are in none of them: a later attempt counts whether this is applied or not.
    """

    matrix: dict[tuple[str, str], int]
    changes: list[Change]
    more: int
    standings: list[Standing]
    unsteady: int
    overtaken: int


def progress(batch: Rejudging) -> Progress:
    """How far it is, in two queries."""
    state = Subquery(Job.objects.filter(id=OuterRef("job")).values("state")[:1])
    counted = batch.items.annotate(at=state).values_list("state", "at", "note").annotate(n=Count("id")).order_by()
    by: Counter[str] = Counter()
    skipped: Counter[str] = Counter()
    for item, job, note, number in counted:
        # A job whose row is gone had finished long ago.
        by[job or JobState.COMPLETED if item == ItemState.OPENED else item] += number
        if item == ItemState.SKIPPED:
            skipped[note] += number
    return Progress(
        total=sum(by.values()),
        waiting=by[ItemState.WAITING],
        queued=by[JobState.QUEUED],
        running=by[JobState.RUNNING],
        judged=by[JobState.COMPLETED],
        given_up=by[JobState.FAILED],
        ended=by[JobState.CANCELLED] + by[JobState.SUPERSEDED],
        skipped=dict(skipped),
    )


def compare(batch: Rejudging) -> Comparison:
    """Old and new verdicts of every submission, and whose best score changes."""
    late = overtaken(batch) if batch.state == RejudgingState.OPEN else set()
    opened = batch.items.filter(state=ItemState.OPENED).order_by("id").values_list("submission", "before", "job")
    items = [item for item in opened if item[0] not in late]
    results = _results({each for _, before, job in items for each in (before, job)})
    first: dict[UUID, UUID | None] = {}
    runs: dict[UUID, list[Verdict]] = defaultdict(list)
    for submission, before, job in items:
        first.setdefault(submission, before)
        runs[submission].append(results.get(job, Verdict(OPEN_STILL)))
    pairs = {each: (results.get(first[each], Verdict(NOTHING)), _last(found)) for each, found in runs.items()}
    unsteady = {each for each, found in runs.items() if len({said for said in found if said.words not in (OPEN_STILL, GIVEN_UP)}) > 1}
    differ = [each for each, (old, new) in pairs.items() if (old != new and new.words not in (OPEN_STILL, GIVEN_UP)) or each in unsteady]
    shown = Submission.objects.select_related("lane__problem").in_bulk(differ[:MOST_CHANGES])
    return Comparison(
        matrix=dict(sorted(Counter((old.words, new.words) for old, new in pairs.values()).items())),
        changes=[Change(shown[each], *pairs[each], each in unsteady) for each in differ[:MOST_CHANGES] if each in shown],
        more=max(0, len(differ) - MOST_CHANGES),
        standings=_standings({each: pairs[each] for each in shown}),
        unsteady=len(unsteady),
        overtaken=len(late),
    )


def _last(runs: list[Verdict]) -> Verdict:
    """The run that counts: the last with a verdict, as `apply` has it."""
    told = [said for said in runs if said.words not in (OPEN_STILL, GIVEN_UP)]
    return told[-1] if told else runs[-1]


def _results(jobs: Iterable[UUID | None]) -> dict[Any, Verdict]:
    wanted = [job for job in jobs if job]
    found = {}
    for start in range(0, len(wanted), CHUNK):
        rows = Result.objects.filter(job__in=wanted[start : start + CHUNK])
        voided = set(Job.objects.filter(id__in=wanted[start : start + CHUNK], voided_at__isnull=False).values_list("id", flat=True))
        for row in rows.only("job_id", "verdict", "score"):
            found[row.job_id] = Verdict(NOTHING) if row.job_id in voided else Verdict(row.verdict or GIVEN_UP, row.score)
    return found


def _standings(changed: dict[UUID, tuple[Verdict, Verdict]]) -> list[Standing]:
    """Whose best score in a lane changes when these results count in the place of the old ones."""
    about = set(Submission.objects.filter(id__in=changed, author__isnull=False).values_list("author", "lane"))
    newest = standing().filter(submission=OuterRef("id")).order_by("-attempt")
    score = Subquery(newest.filter(voided_at=None).values("result__score")[:1])
    counted = Submission.objects.filter(deleted_at=None, excluded_at=None, author__in={author for author, _ in about})
    old: dict[Any, list[float | None]] = defaultdict(list)
    new: dict[Any, list[float | None]] = defaultdict(list)
    for id_, author, lane, now in counted.filter(lane__in={lane for _, lane in about}).values_list("id", "author", "lane", score):
        before, after = changed.get(id_, (Verdict("", now), Verdict("", now)))
        old[author, lane].append(before.score)
        new[author, lane].append(after.score)
    both = [Standing(author, lane, _best(old[author, lane]), _best(new[author, lane])) for author, lane in sorted(about, key=str)]
    return [each for each in both if each.old != each.new]


def _best(scores: list[float | None]) -> float | None:
    return max((score for score in scores if score is not None), default=None)
