"""Who takes part in what, and what they may see of it."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from contests.errors import EnrolmentClosed
from contests.models import Activity, Participant
from contests.submit import database_now
from judging.errors import NotFound


@dataclass(frozen=True, slots=True)
class Seen:
    """An activity with its rounds, and the ids of the rounds whose problems may be shown."""

    activity: Activity
    shown: frozenset[UUID]


def activity_of(slug: str) -> Activity:
    """The activity of this name, for who may see all or is known to take part. Raises NotFound."""
    return _one(Activity.objects.filter(slug=slug))


def enrolled_in(user: User) -> set[UUID]:
    """The activities an account takes part in."""
    return set(Participant.objects.filter(user=user).values_list("activity", flat=True))


def visible_to(user: User, *, everything: bool, only: UUID | None = None) -> QuerySet[Activity]:
    """The activities an account takes part in or may join; `everything` is for operators, of one organization with `only`."""
    found = Activity.objects.all()
    if everything and only is None:
        return found
    joined = Q(enrolment_open=True) | Q(id__in=Participant.objects.filter(user=user).values("activity"))
    return found.filter(joined | Q(organization=only) if everything else joined)


def look_into(user: User, slug: str, *, everything: bool, only: UUID | None = None) -> Seen:
    """What an account may see inside an activity: problems of begun rounds, if it takes part. As for `visible_to`.

    Raises NotFound for one that is not visible, as for an unknown one.
    """
    seen = visible_to(user, everything=everything, only=only).filter(slug=slug)
    found = _one(seen.prefetch_related("rounds__assignments__problem"))
    everything = everything and only in (None, found.organization_id)
    takes_part = Participant.objects.filter(user=user, activity=found).exists()
    return Seen(found, _shown(found, begun_only=not everything) if everything or takes_part else frozenset())


def enrol(user: User, slug: str, *, everything: bool, only: UUID | None = None) -> tuple[Participant, bool]:
    """The account's place in an activity, and whether it is new. As for `look_into`. Raises NotFound, EnrolmentClosed."""
    activity = _one(visible_to(user, everything=everything, only=only).filter(slug=slug))
    there = Participant.objects.select_related("activity").filter(activity=activity, user=user).first()
    if there is not None:
        return there, False
    over = activity.closes_at is not None and activity.closes_at <= database_now()
    if over or not activity.enrolment_open:
        raise EnrolmentClosed
    name = user.get_full_name() or user.get_username()
    return Participant.objects.get_or_create(activity=activity, user=user, defaults={"name": name})


def _one(seen: QuerySet[Activity]) -> Activity:
    """The one there is among those that may be seen. Raises NotFound: another's, hidden and unknown are one answer."""
    found = seen.first()
    if found is None:
        raise NotFound
    return found


def _shown(activity: Activity, *, begun_only: bool) -> frozenset[UUID]:
    """The rounds that have begun, the activity's own beginning counted; all of them when asked so."""
    now = database_now()
    begins = {round_.id: [moment for moment in (activity.opens_at, round_.opens_at) if moment] for round_ in activity.rounds.all()}
    return frozenset(id_ for id_, moments in begins.items() if not begun_only or all(moment <= now for moment in moments))
