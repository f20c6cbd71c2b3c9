"""Rooms: a pool is a name that machines and contests share. Who uses which, and giving one another name.

Each machine, round and activity is changed by its own verb, so that a crash in between leaves every one of them whole;
saying it again finishes it.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.db import connection

from contests.models import Activity, Round
from contests.routing import retag_activity, retag_round
from judging import queue
from judging.errors import MalformedRequest
from runners.models import Pool, Runner, RunnerState
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

    Machines get the new name beside the old one first, so that at no moment is there work that nobody serves.
    Raises MalformedRequest when the name is none, TagsCount, TagsLength.
    """
    names = clean_tags([to], limits=settings.LIMITS)
    if not names or names == [pool]:
        raise MalformedRequest("The new name must be another one.")
    new = names[0]
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
    Pool.objects.filter(name=pool).delete()
    return Use(len(moved), len(rounds), len(activities))


def _renamed(names: list[str], old: str, new: str) -> list[str]:
    return list(dict.fromkeys(new if name == old else name for name in names))
