"""What was published, for those who may read it."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from contests.models import Activity, Participant, Publication
from contests.publishing.results import digest, results
from judging.errors import NotFound


def published_in(user: User, slug: str, *, everything: bool, only: UUID | None) -> QuerySet[Publication]:
    """An activity's publications, newest first, for who takes part; `everything` as in contests.taking_part.

    Raises NotFound for an activity that is not theirs to read, as for an unknown one, and after as much work.
    """
    found = Activity.objects.filter(slug=slug)
    if not everything or only is not None:
        takes_part = Q(id__in=Participant.objects.filter(user=user).values("activity"))
        found = found.filter(takes_part | Q(organization=only) if everything else takes_part)
    activity = found.first()
    if activity is None:
        raise NotFound
    return Publication.objects.filter(activity=activity)


def newest(activity: Activity) -> Publication | None:
    """The publication that speaks for an activity, None when nothing was published."""
    return Publication.objects.filter(activity=activity).first()


def superseded(publication: Publication) -> str:
    """Why a publication is no longer what counts, in words; empty while it is.

    Asked of the results themselves: a rejudging that was applied, a voided result, an exclusion or a late submission
    all change them, and nothing else does.
    """
    last = newest(publication.activity)
    if last is not None and last.number != publication.number:
        return f"superseded by number {last.number}"
    same = digest(results(publication.activity)) == publication.results_sha256
    return "" if same else "superseded by judgements since"
