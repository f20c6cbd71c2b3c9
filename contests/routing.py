"""Which pools judge what: the round's where it has any, else the activity's, else `default` (seed 000).

The effective pools live on the lanes, so that retagging is one UPDATE and a claim never joins contests.
"""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.conf import settings
from django.db import transaction

from contests.models import Activity, Assignment, Round
from judging import queue
from judging.errors import NotFound
from judging.models import Lane, Problem, ProblemVersion
from runners.models import DEFAULT_POOL
from runners.tags import clean_tags, note_pools


def effective_pools(round_: Round) -> list[str]:
    """The pools that judge a round's work; never empty."""
    return list(round_.pools or round_.activity.pools or [DEFAULT_POOL])


def assign(
    round_: Round,
    problem: Problem,
    *,
    slug: str,
    position: int = 1,
    version: ProblemVersion | None = None,
    config: str = "",
    submission_limit: int | None = None,
) -> Assignment:
    """Use a problem in a round, on a lane of its own. `config` is compact JSON or empty, gated by the caller."""
    with transaction.atomic():
        lane = Lane.objects.create(
            problem=problem,
            problem_type=problem.problem_type,
            external=problem.external,
            pools=effective_pools(round_),
            config=config,
            priority=round_.activity.priority,
        )
        return Assignment.objects.create(
            round=round_,
            problem=problem,
            slug=slug,
            position=position,
            version=version,
            lane=lane,
            submission_limit=submission_limit,
        )


def configure(assignment: Assignment, *, config: str) -> None:
    """Give an assignment other configuration, for what is handed out from now on. Compact JSON or empty, gated by the caller."""
    Lane.objects.filter(id=assignment.lane_id).update(config=config)


def retag_activity(activity: UUID, *, pools: Iterable[str]) -> list[str]:
    """Give an activity other pools; rounds with their own keep them. Raises NotFound, TagsCount, TagsLength.

    The row first, then the lanes: a crash in between is repaired by saying it again.
    """
    kept = clean_tags(pools, limits=settings.LIMITS)
    if not Activity.objects.filter(id=activity).update(pools=kept):
        raise NotFound
    note_pools(kept)
    lanes = Lane.objects.filter(assignment__round__activity=activity, assignment__round__pools=[])
    queue.reroute(lanes.values_list("id", flat=True), pools=kept)
    return kept


def retag_round(round_: UUID, *, pools: Iterable[str]) -> list[str]:
    """Give a round other pools; none means the activity's. Raises NotFound, TagsCount, TagsLength."""
    kept = clean_tags(pools, limits=settings.LIMITS)
    if not Round.objects.filter(id=round_).update(pools=kept):
        raise NotFound
    note_pools(kept)
    row = Round.objects.select_related("activity").get(id=round_)
    lanes = Lane.objects.filter(assignment__round=round_)
    queue.reroute(lanes.values_list("id", flat=True), pools=effective_pools(row))
    return kept
