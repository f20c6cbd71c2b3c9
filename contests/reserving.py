"""reserve, give_back: machines set apart for one activity, and put back where they were.

What to put back is stored first, then each machine and the activity are changed by their own verbs; at no moment is
there work that nobody serves. A crash in between is mended by saying it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from django.conf import settings

from contests.errors import RoomTaken
from contests.models import Activity, Reservation, ReservedRunner
from contests.rooms import use
from contests.routing import retag_activity
from judging import queue
from judging.durable import one_transaction
from judging.errors import MalformedRequest, NotFound, TagsCount
from runners.models import DEFAULT_POOL, Pool, Runner, RunnerState
from runners.tags import clean_tags


def reserve(activity: UUID, *, runners: Sequence[UUID], pool: str) -> Reservation:
    """Let these machines judge this activity and nothing else, in a pool of this name.

    Said again with the same pool it finishes what was begun, and adds machines. Raises NotFound, RoomTaken,
    MalformedRequest when there is no name or no machine, TagsCount, TagsLength.
    """
    names = clean_tags([pool], limits=settings.LIMITS)
    if not names or not runners:
        raise MalformedRequest("A room has a name and at least one machine.")
    with one_transaction():
        reservation = _reservation(activity, names[0])
        _note(reservation, runners)
    kept = list(reservation.runners.all())
    for each in kept:
        _serve_both(each, reservation.pool)
    retag_activity(activity, pools=[reservation.pool])
    for each in kept:
        _retag(each.runner, [reservation.pool])
    return reservation


def give_back(activity: UUID) -> str:
    """Put an activity's machines, and the activity, back into the pools they had; the name of the room that was.

    What was retagged by hand meanwhile only loses the room's name. Raises NotFound when nothing is reserved.
    """
    reservation = Reservation.objects.filter(activity=activity).select_related("activity").first()
    if reservation is None:
        raise NotFound
    kept, pool = list(reservation.runners.all()), reservation.pool
    for each in _untouched(kept, pool):
        _serve_both(each, pool)
    if reservation.activity.pools == [pool]:
        retag_activity(activity, pools=reservation.pools_before)
    before = {each.runner: each.tags_before for each in kept}
    for runner, tags in _current(before):
        left = [tag for tag in tags if tag != pool]
        _retag(runner, left if set(left) - set(_worn(before[runner])) else before[runner])
    with one_transaction():
        Reservation.objects.filter(id=reservation.id).delete()
    if pool not in use():
        Pool.objects.filter(name=pool).delete()
    return pool


def _reservation(activity: UUID, pool: str) -> Reservation:
    """The activity's reservation under this name, made if there is none."""
    row = Activity.objects.select_for_update().filter(id=activity).first()
    if row is None:
        raise NotFound
    there = Reservation.objects.filter(activity=activity).first()
    if there is not None:
        if there.pool != pool:
            raise RoomTaken(f"This activity has {there.pool}; give that back first.")
        return there
    if pool in use() or Reservation.objects.filter(pool=pool).exists():
        raise RoomTaken(f"{pool} is in use; a room needs a name of its own.")
    return Reservation.objects.create(activity=row, pool=pool, pools_before=row.pools)


def _note(reservation: Reservation, runners: Sequence[UUID]) -> None:
    taken = ReservedRunner.objects.filter(runner__in=runners).exclude(reservation=reservation)
    if (first := taken.select_related("reservation").first()) is not None:
        raise RoomTaken(f"A machine is reserved already, as {first.reservation.pool}.")
    approved = Runner.objects.select_for_update().filter(id__in=runners, state=RunnerState.APPROVED).order_by("id")
    found = list(approved.values_list("id", "tags"))
    if len(found) != len(set(runners)):
        raise RoomTaken("One of the machines is not approved.")
    there = set(reservation.runners.values_list("runner", flat=True))
    ReservedRunner.objects.bulk_create(
        ReservedRunner(reservation=reservation, runner=id_, tags_before=tags) for id_, tags in found if id_ not in there
    )


def _current(runners: Iterable[UUID]) -> list[tuple[UUID, list[str]]]:
    """The tags of those that are still here and not revoked."""
    found = Runner.objects.filter(id__in=list(runners)).exclude(state=RunnerState.REVOKED).order_by("id")
    return list(found.values_list("id", "tags"))


def _untouched(kept: list[ReservedRunner], pool: str) -> list[ReservedRunner]:
    alone = {id_ for id_, tags in _current(each.runner for each in kept) if tags == [pool]}
    return [each for each in kept if each.runner in alone]


def _worn(tags: Sequence[str]) -> list[str]:
    """The pools that tags stand for."""
    return list(tags) or [DEFAULT_POOL]


def _serve_both(each: ReservedRunner, pool: str) -> None:
    """The old pools beside the room, while work moves from one to the other."""
    try:
        _retag(each.runner, [*_worn(each.tags_before), pool])
    except TagsCount:
        _retag(each.runner, [pool])


def _retag(runner: UUID, tags: Sequence[str]) -> None:
    try:
        queue.retag(runner, tags=tags)
    except NotFound:
        return
