"""Which pools judge what: the round's where it has any, else the activity's, else `default` (seed 000).

The effective pools live on the lanes, so that retagging is one UPDATE and a claim never joins contests.
"""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from contests.models import Activity, Assignment, Round
from judging import queue
from judging.durable import one_transaction
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
        _lock(round_.activity_id)
        # Read under the lock: a retag that came first has changed what the caller read.
        round_ = Round.objects.select_related("activity").get(id=round_.id)
        lane = _lane(round_, problem, version=version, config=config)
        return Assignment.objects.create(
            round=round_,
            problem=problem,
            slug=slug,
            position=position,
            version=version,
            lane=lane,
            submission_limit=submission_limit,
        )


def _lane(round_: Round, problem: Problem, *, version: ProblemVersion | None, config: str) -> Lane:
    """A lane that is routed as the round is now."""
    return Lane.objects.create(
        problem=problem,
        problem_type=problem.problem_type,
        external=problem.external,
        pools=effective_pools(round_),
        config=config,
        version=version,
        priority=round_.activity.priority,
    )


def pin(assignment: UUID, version: ProblemVersion | None) -> None:
    """Judge an assignment's work by this version from now on, rejudges too; None follows the newest."""
    with transaction.atomic():
        Assignment.objects.filter(id=assignment).update(version=version)
        Lane.objects.filter(assignment=assignment).update(version=version)


def configure(assignment: Assignment, *, config: str) -> None:
    """Give an assignment other configuration, for what is handed out from now on. Compact JSON or empty, gated by the caller."""
    Lane.objects.filter(id=assignment.lane_id).update(config=config)


def retag_activity(activity: UUID, *, pools: Iterable[str]) -> list[str]:
    """Give an activity other pools; rounds with their own keep them. Raises NotFound, TagsCount, TagsLength."""
    kept = clean_tags(pools, limits=settings.LIMITS)
    with one_transaction():
        _lock(activity)
        Activity.objects.filter(id=activity).update(pools=kept)
        note_pools(kept)
        _align(Round.objects.filter(activity=activity))
    return kept


def retag_round(round_: UUID, *, pools: Iterable[str]) -> list[str]:
    """Give a round other pools; none means the activity's. Raises NotFound, TagsCount, TagsLength."""
    kept = clean_tags(pools, limits=settings.LIMITS)
    with one_transaction():
        activity = Round.objects.filter(id=round_).values_list("activity", flat=True).first()
        if activity is None:
            raise NotFound
        _lock(activity)
        Round.objects.filter(id=round_).update(pools=kept)
        note_pools(kept)
        _align(Round.objects.filter(id=round_))
    return kept


def _lock(activity: UUID) -> None:
    """One change of an activity's routing at a time.

    Two at once would each write lanes by what they read of the other's row before it changed.
    """
    if Activity.objects.select_for_update(no_key=True).filter(id=activity).first() is None:
        raise NotFound


def _align(rounds: QuerySet[Round]) -> None:
    """Write the effective pools of these rounds on their lanes, and tell who waits of the work in them."""
    for round_ in rounds.select_related("activity"):
        lanes = Lane.objects.filter(assignment__round=round_)
        lanes.update(pools=effective_pools(round_))
        queue.announce_work_of(lanes)
