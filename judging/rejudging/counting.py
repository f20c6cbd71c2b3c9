"""Which attempts count for nothing because their results are kept aside."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, QuerySet

from judging.models import Job, RejudgingItem
from judging.states import JobState

GAVE_WAY = (JobState.CANCELLED, JobState.SUPERSEDED)


def set_aside() -> Exists:
    """Of the outer query's job: whether a rejudging keeps its result aside."""
    return Exists(RejudgingItem.objects.filter(job=OuterRef("id"), aside=True))


def standing() -> QuerySet[Job]:
    """The attempts that may speak for a submission: none that gave way, none that is kept aside."""
    return Job.objects.exclude(state__in=GAVE_WAY).filter(~set_aside())
