"""Which attempts count for nothing because their results are kept aside."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet, Subquery

from judging.models import Job, Rejudging, RejudgingItem
from judging.states import JobState

GAVE_WAY = (JobState.CANCELLED, JobState.SUPERSEDED)


def set_aside() -> Exists:
    """Of the outer query's job: whether a rejudging keeps its result aside."""
    return Exists(RejudgingItem.objects.filter(job=OuterRef("id"), aside=True))


def standing() -> QuerySet[Job]:
    """The attempts that may speak for a submission: none that gave way, none that is kept aside."""
    return Job.objects.exclude(state__in=GAVE_WAY).filter(~set_aside())


def overtaken(batch: Rejudging) -> set[UUID]:
    """The submissions of which a later attempt than any of this rejudging's speaks already: applying changes nothing there."""
    mine = RejudgingItem.objects.filter(rejudging=batch, job=OuterRef("id"))
    attempt = Job.objects.filter(Exists(mine), submission=OuterRef("submission")).order_by("-attempt").values("attempt")[:1]
    later = standing().filter(submission__in=batch.items.filter(job__isnull=False).values("submission"))
    return set(later.filter(attempt__gt=Subquery(attempt)).values_list("submission", flat=True))
