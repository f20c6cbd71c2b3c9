"""Rooms: a pool is a name that machines and contests share. Who uses which, and giving one another name.

Each machine, round and activity is changed by its own verb, so that a crash in between leaves every one of them whole;
saying it again finishes it.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.db import connection

from contests.errors import RoomTaken
from contests.models import Activity, Reservation, ReservedRunner, Round
from contests.routing import retag_activity, retag_round
from judging import queue
from judging.durable import one_transaction
from judging.errors import MalformedRequest
from runners.models import DEFAULT_POOL, Pool, Runner, RunnerState
from runners.tags import clean_tags

_USE = """
SELECT u.pool, sum(u.runners)::int, sum(u.rounds)::int, sum(u.activities)::int FROM (
    SELECT unnest(CASE WHEN cardinality(r.tags) = 0 THEN ARRAY['default']::varchar[] ELSE r.tags END) AS pool,
           1 AS runners, 0 AS rounds, 0 AS activities
        FROM runners_runner r WHERE r.state <> 'revoked'
    UNION ALL SELECT unnest(o.pools), 0, 1, 0 FROM contests_round o
    UNION ALL SELECT unnest(a.pools), 0, 0, 1 FROM contests_activity a) u
GROUP BY u.pool
"""


@dataclass(frozen=True, slots=True)
class Use:
    """How many machines serve a pool (a machine without tags serves `default`), and what names it."""

    runners: int = 0
    rounds: int = 0
    activities: int = 0


def use() -> dict[str, Use]:
    """Every pool that anything uses, in one query."""
    with connection.cursor() as cursor:
        cursor.execute(_USE)
        return {pool: Use(*counts) for pool, *counts in cursor.fetchall()}


def rename(pool: str, *, to: str) -> Use:
    """Give a pool another name everywhere; where that name is used already the two become one. What was changed.

    Machines get the new name beside the old one first, so that at no moment is there work that nobody serves. What
    reservations keep to put back is renamed with it. Raises MalformedRequest when the name is none, TagsCount,
    TagsLength, RoomTaken when a reserved room would become one with another pool.
    """
    names = clean_tags([to], limits=settings.LIMITS)
    if not names or names == [pool]:
        raise MalformedRequest("The new name must be another one.")
    new = names[0]
    _must_stay_apart(pool, new)
    machines = Runner.objects.filter(tags__contains=[pool]).exclude(state=RunnerState.REVOKED)
    moved = list(machines.values_list("id", "tags"))
    for id_, tags in moved:
        queue.retag(id_, tags=[*tags, new])
    activities = list(Activity.objects.filter(pools__contains=[pool]).values_list("id", "pools"))
    rounds = list(Round.objects.filter(pools__contains=[pool]).values_list("id", "pools"))
    for id_, pools in activities:
        retag_activity(id_, pools=_renamed(pools, pool, new))
    for id_, pools in rounds:
        retag_round(id_, pools=_renamed(pools, pool, new))
    for id_, tags in moved:
        queue.retag(id_, tags=_renamed(tags, pool, new))
    _rename_reserved(pool, new)
    Pool.objects.filter(name=pool).delete()
    return Use(len(moved), len(rounds), len(activities))


def _must_stay_apart(pool: str, new: str) -> None:
    """A room reserved for one contest serves nobody else: no other pool may become one with it.

    What its own machines and activity carry already is what a rename that was cut off has left.
    """
    if Reservation.objects.filter(pool=new).exists():
        raise RoomTaken(f"{new} is reserved for {Reservation.objects.get(pool=new).activity}; give that room back first.")
    room = Reservation.objects.filter(pool=pool).first()
    if room is None:
        return
    others = (
        Runner.objects.filter(tags__contains=[new]).exclude(id__in=room.runners.values("runner")).exclude(state=RunnerState.REVOKED),
        Activity.objects.filter(pools__contains=[new]).exclude(id=room.activity_id),
        Round.objects.filter(pools__contains=[new]).exclude(activity=room.activity_id),
    )
    if new == DEFAULT_POOL or any(found.exists() for found in others):
        raise RoomTaken(f"{pool} is a reserved room, and {new} is in use: the two cannot become one.")


def _rename_reserved(pool: str, new: str) -> None:
    """The room's own name, and what activities and machines are to get back, last: a rename that was cut off says it again."""
    with one_transaction():
        for each in Reservation.objects.select_for_update().filter(pools_before__contains=[pool]):
            Reservation.objects.filter(id=each.id).update(pools_before=_renamed(each.pools_before, pool, new))
        for kept in ReservedRunner.objects.select_for_update().filter(tags_before__contains=[pool]):
            ReservedRunner.objects.filter(id=kept.id).update(tags_before=_renamed(kept.tags_before, pool, new))
        Reservation.objects.filter(pool=pool).update(pool=new)


def _renamed(names: list[str], old: str, new: str) -> list[str]:
    return list(dict.fromkeys(new if name == old else name for name in names))
