"""What counts of every submission of an activity: the attempt that stands, and what it was judged to be."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet

from contests.models import Activity, Participant
from judging.models import Job, Lane, RejudgingItem, Result, Submission
from judging.records import canonical, instant
from judging.rejudging.counting import standing

Rows = list[dict[str, object]]


def lanes_of(activity: UUID) -> list[UUID]:
    """The lanes of an activity's assignments."""
    return list(Lane.objects.filter(assignment__round__activity=activity).order_by("id").values_list("id", flat=True))


def results(activity: Activity) -> Rows:
    """A row for everything that participants sent and did not withdraw, in the order it was sent.

    Scores are text, as the ledger has them: the shortest that reads back to the same number.
    """
    rows = list(_sent(activity))
    attempts = {job.submission_id: job for job in _standing(rows)}
    judged = {result.submission_id: result for result in _judged(rows, attempts.values())}
    names = dict(Participant.objects.filter(activity=activity).values_list("id", "name"))
    return [_row(row, attempts.get(row.id), judged.get(row.id), names) for row in rows]


def digest(rows: Rows) -> str:
    """SHA-256, in hexadecimal, by which two sets of results are told apart."""
    return hashlib.sha256(canonical({"results": rows})).hexdigest()


def _sent(activity: Activity) -> QuerySet[Submission]:
    found = Submission.objects.filter(lane__assignment__round__activity=activity, deleted_at=None, author__isnull=False)
    return found.select_related("lane__assignment__round").order_by("created_at", "id")


def _standing(rows: Iterable[Submission]) -> QuerySet[Job]:
    """The attempt that speaks for each: the last that did not give way and is not kept aside."""
    return standing().filter(submission__in=[row.id for row in rows]).order_by("submission_id", "-attempt").distinct("submission_id")


def _judged(rows: Iterable[Submission], attempts: Iterable[Job]) -> Iterable[Result]:
    """The results of those attempts; of a submission whose jobs were removed with time, the last that is not kept aside."""
    attempts = list(attempts)
    yield from Result.objects.filter(job__in=[job.id for job in attempts])
    left = {row.id for row in rows} - {job.submission_id for job in attempts}
    aside = RejudgingItem.objects.filter(job=OuterRef("job"), aside=True)
    yield from Result.objects.filter(~Exists(aside), submission__in=left).order_by("submission_id", "-attempt").distinct("submission_id")


def _row(row: Submission, job: Job | None, result: Result | None, names: dict[UUID, str]) -> dict[str, object]:
    """One submission. `state` is that of the attempt; `voided` for one whose result was declared void."""
    task: Any = row.lane
    said: dict[str, object] = {
        "submission": str(row.id),
        "participant": str(row.author),
        "name": names.get(row.author) if row.author else None,
        "round": task.assignment.round.position,
        "problem": task.assignment.slug,
        "sentAt": instant(row.created_at),
        "counts": row.excluded_at is None,
        "state": "completed" if job is None and result else None if job is None else "voided" if job.voided_at else str(job.state),
        "attempt": job.attempt if job else result.attempt if result else None,
    }
    if result is None or said["state"] != "completed":
        return said
    return said | {"job": str(result.job_id), "verdict": result.verdict, "score": _text(result.score), "maxScore": _text(result.max_score)}


def _text(score: float | None) -> str | None:
    return None if score is None else repr(score)
