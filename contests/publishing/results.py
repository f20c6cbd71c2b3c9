"""What counts of every submission of an activity: the attempt that stands, and what it was judged to be."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from contests.models import Activity, Participant
from contests.publishing.gone import VOIDED, Attempt, gone
from judging.models import Lane, Result, Submission
from judging.records import canonical, instant
from judging.rejudging.counting import standing
from judging.states import JobState

Rows = list[dict[str, object]]


def lanes_of(activity: UUID) -> list[UUID]:
    """The lanes of an activity's assignments."""
    return list(Lane.objects.filter(assignment__round__activity=activity).order_by("id").values_list("id", flat=True))


def results(activity: Activity) -> Rows:
    """A row for everything that participants sent and did not withdraw, in the order it was sent.

    Scores are text, as the ledger has them: the shortest that reads back to the same number.
    """
    rows = list(_sent(activity))
    attempts = {attempt.submission: attempt for attempt in _attempts(rows)}
    judged = {result.job_id: result for result in Result.objects.filter(job__in=[attempt.job for attempt in attempts.values()])}
    names = dict(Participant.objects.filter(activity=activity).values_list("id", "name"))
    return [_row(row, attempts.get(row.id), judged, names) for row in rows]


def digest(rows: Rows) -> str:
    """SHA-256, in hexadecimal, by which two sets of results are told apart."""
    return hashlib.sha256(canonical({"results": rows})).hexdigest()


def _sent(activity: Activity) -> QuerySet[Submission]:
    found = Submission.objects.filter(lane__assignment__round__activity=activity, deleted_at=None, author__isnull=False)
    return found.select_related("lane__assignment__round").order_by("created_at", "id")


def _attempts(rows: Collection[Submission]) -> Iterator[Attempt]:
    """The attempt that speaks for each: the last that did not give way and is not kept aside, removed with time or not."""
    found = standing().filter(submission__in=[row.id for row in rows]).order_by("submission_id", "-attempt").distinct("submission_id")
    left = {row.id: row for row in rows}
    for job in found:
        del left[job.submission_id]
        yield Attempt(job.submission_id, job.id, job.attempt, VOIDED if job.voided_at else str(job.state))
    yield from gone(left.values())


def _row(row: Submission, attempt: Attempt | None, judged: dict[UUID, Result], names: dict[UUID, str]) -> dict[str, object]:
    """One submission, and what its attempt came to."""
    task: Any = row.lane
    said: dict[str, object] = {
        "submission": str(row.id),
        "participant": str(row.author),
        "name": names.get(row.author) if row.author else None,
        "round": task.assignment.round.position,
        "problem": task.assignment.slug,
        "sentAt": instant(row.created_at),
        "counts": row.excluded_at is None,
        "state": attempt.state if attempt else None,
        "attempt": attempt.number if attempt else None,
    }
    if attempt is None or attempt.state != JobState.COMPLETED:
        return said
    result = judged[attempt.job]
    return said | {"job": str(result.job_id), "verdict": result.verdict, "score": _text(result.score), "maxScore": _text(result.max_score)}


def _text(score: float | None) -> str | None:
    return None if score is None else repr(score)
