"""reroute, pause, resume: what an operator says of lanes. Waiting work follows at once (seed 000)."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet
from django.db.models.functions import Now

from judging.durable import one_transaction
from judging.errors import NotFound
from judging.models import Lane
from judging.text import storable
from judging.wake import Everyone, Work, announce
from runners.models import DEFAULT_POOL
from runners.tags import clean_tags

_KINDS = 256
"""Past so many kinds of work, telling everyone to look is cheaper than telling each why."""


def reroute(lanes: Iterable[UUID], *, pools: Iterable[str]) -> int:
    """Give lanes other effective pools, in one UPDATE whatever waits in them; how many lanes.

    An empty list means `default`. Raises TagsCount, TagsLength.
    """
    effective = clean_tags(pools, limits=settings.LIMITS) or [DEFAULT_POOL]
    with one_transaction():
        rerouted = Lane.objects.filter(id__in=list(lanes))
        # In the order in which a sweep writes: an UPDATE alone would take them as they lie.
        list(rerouted.select_for_update(no_key=True).order_by("id").values_list("id"))
        changed = rerouted.update(pools=effective)
        announce_work_of(rerouted)
    return changed


def pause(lane: UUID, *, reason: str) -> None:
    """Hand out nothing more of a lane until it is resumed; what runners hold goes on. Keeps the first time."""
    with one_transaction():
        paused = Lane.objects.filter(id=lane, paused_at=None)
        if not paused.update(paused_at=Now(), paused_reason=storable(reason)[:500]):
            _must_exist(lane)


def resume(lane: UUID) -> None:
    """Hand out a lane's work again, in its old order."""
    with one_transaction():
        if not Lane.objects.filter(id=lane).update(paused_at=None, paused_reason=""):
            _must_exist(lane)
        announce_work_of(Lane.objects.filter(id=lane))


def announce_work_of(lanes: QuerySet[Lane]) -> None:
    """Tell who waits of the work these lanes may hold, when this transaction commits.

    By kind and not by telling everyone: one fitting runner is woken for each, and wakes the next when it got
    something. Thousands that wait and find nothing here would otherwise stand between the work and who may take it.
    """
    kinds = lanes.filter(active=True, paused_at=None).values_list("problem_type", "external", "pools")
    works = {Work(problem_type, external, frozenset(pools)) for problem_type, external, pools in kinds.distinct()[: _KINDS + 1]}
    announce(*works if len(works) <= _KINDS else (Everyone(),))


def _must_exist(lane: UUID) -> None:
    if not Lane.objects.filter(id=lane).exists():
        raise NotFound
