"""Who takes part in what, and what they may see of it."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from contests.errors import EnrolmentClosed, NotEnrolled
from contests.models import Activity, Participant
from contests.submit import database_now
from judging.errors import NotFound


@dataclass(frozen=True, slots=True)
class Seen:
    """An activity with its rounds, and the ids of the rounds whose problems may be shown."""

    activity: Activity
    shown: frozenset[UUID]


def activity_of(slug: str, user: User | None = None, *, only: UUID | None = None) -> Activity:
    """The activity of this name. Raises NotFound; with `only`, for one that the account is not to know of, too."""
    found = Activity.objects.filter(slug=slug).first()
    if found is None or is_hidden(found, user, only=only):
        raise NotFound
    return found


def is_hidden(activity: Activity, user: User | None, *, only: UUID | None) -> bool:
    """Whether an operator of `only` is not to know that there is this activity: another's, and as a participant no part in it."""
    if only is None or activity.organization_id == only or activity.enrolment_open:
        return False
    return not Participant.objects.filter(user=user, activity=activity).exists()


def enrolled_in(user: User) -> set[UUID]:
    """The activities an account takes part in."""
    return set(Participant.objects.filter(user=user).values_list("activity", flat=True))


def visible_to(user: User, *, everything: bool, only: UUID | None = None) -> QuerySet[Activity]:
    """The activities an account takes part in or may join; `everything` is for operators, of one organization with `only`."""
    found = Activity.objects.all()
    if everything and only is None:
        return found
    joined = Q(enrolment_open=True) | Q(id__in=enrolled_in(user))
    return found.filter(joined | Q(organization=only) if everything else joined)


def look_into(user: User, slug: str, *, everything: bool, only: UUID | None = None) -> Seen:
    """What an account may see inside an activity: problems of begun rounds, if it takes part. As for `visible_to`.

    Raises NotFound for an unknown one and, to an operator of one organization, for another's; NotEnrolled for one that
    the account neither takes part in nor may join.
    """
    found = Activity.objects.filter(slug=slug).prefetch_related("rounds__assignments__problem").first()
    if found is None or is_hidden(found, user, only=only):
        raise NotFound
    everything = everything and only in (None, found.organization_id)
    takes_part = Participant.objects.filter(user=user, activity=found).exists()
    if not (everything or takes_part or found.enrolment_open):
        raise NotEnrolled
    return Seen(found, _shown(found, begun_only=not everything) if everything or takes_part else frozenset())


def enrol(user: User, slug: str, *, only: UUID | None = None) -> tuple[Participant, bool]:
    """The account's place in an activity, and whether it is new. Raises NotFound, EnrolmentClosed."""
    activity = activity_of(slug, user, only=only)
    there = Participant.objects.select_related("activity").filter(activity=activity, user=user).first()
    if there is not None:
        return there, False
    over = activity.closes_at is not None and activity.closes_at <= database_now()
    if over or not activity.enrolment_open:
        raise EnrolmentClosed
    name = user.get_full_name() or user.get_username()
    return Participant.objects.get_or_create(activity=activity, user=user, defaults={"name": name})


def _shown(activity: Activity, *, begun_only: bool) -> frozenset[UUID]:
    """The rounds that have begun, the activity's own beginning counted; all of them when asked so."""
    now = database_now()
    begins = {round_.id: [moment for moment in (activity.opens_at, round_.opens_at) if moment] for round_ in activity.rounds.all()}
    return frozenset(id_ for id_, moments in begins.items() if not begun_only or all(moment <= now for moment in moments))
