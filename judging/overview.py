"""What the operators' pages ask of the tables: each question one bounded query, whatever the queue's size."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection

from judging.models import Installation, Job
from judging.states import JobState, Priority
from judging.waiting import Need, Obstacle, Place, Squad, obstacles, sentence
from runners.clock import Clock
from runners.models import DEFAULT_POOL

DEPTH_CAP = 1000
KINDS_CAP = 100
RUNNING_CAP = 50
JUDGED_CAP = 20_000

# The lane's own index is walked for at most a thousand heads, so that a flood in one lane costs no more than that.
_KINDS = f"""
SELECT l.problem_type, l.external, l.pools, bool_and(l.paused_at IS NOT NULL), sum(w.depth)::int,
       bool_or(w.depth > {DEPTH_CAP}), min(w.oldest)
FROM judging_lane l CROSS JOIN LATERAL (
    SELECT count(*) AS depth, min(o.head_created_at) AS oldest FROM (
        SELECT t.head_created_at FROM judging_thread t WHERE t.lane_id = l.id AND t.claimable
        ORDER BY t.head_priority, t.head_created_at, t.head LIMIT {DEPTH_CAP} + 1) o) w
WHERE l.active AND w.depth > 0
GROUP BY l.problem_type, l.external, l.pools, l.paused_at IS NOT NULL
ORDER BY min(w.oldest) LIMIT {KINDS_CAP}
"""

# A held job makes its runner busy; the partial index on held jobs keeps this a look-up.
_SQUADS = """
SELECT r.problem_types, r.external, r.tags,
       count(*) FILTER (WHERE r.state = 'approved'),
       count(*) FILTER (WHERE r.state = 'approved' AND r.seen),
       count(*) FILTER (WHERE r.state = 'approved' AND r.seen AND NOT r.busy),
       count(*) FILTER (WHERE r.state = 'pendingApproval')
FROM (SELECT r.problem_types, r.external, r.tags, r.state, r.last_seen_at > (SELECT judge_now()) - %s AS seen,
             EXISTS (SELECT 1 FROM judging_job j WHERE j.runner_id = r.id AND j.state = 'running') AS busy
      FROM runners_runner r WHERE r.state <> 'revoked') r
GROUP BY r.problem_types, r.external, r.tags
"""

_BEHIND = f"""
SELECT count(*) FROM (
    SELECT 1 FROM judging_job r JOIN judging_job q ON q.thread_id = r.thread_id AND q.state = 'queued'
    WHERE r.state = 'running' LIMIT {DEPTH_CAP} + 1) b
"""

# The jury's own submissions wait behind everybody's: how long says nothing of how the others fare.
# (SELECT judge_now()): asked once. As it stands it would be asked for every row, and no index could serve.
_TEMPO = f"""
SELECT date_trunc('minute', f.finished_at), count(*) FILTER (WHERE f.state = 'completed'),
       count(*) FILTER (WHERE f.state = 'failed'),
       percentile_cont(0.5) WITHIN GROUP (ORDER BY f.took) FILTER (WHERE f.state = 'completed'),
       percentile_cont(0.95) WITHIN GROUP (ORDER BY f.took) FILTER (WHERE f.state = 'completed')
FROM (SELECT j.finished_at, j.state, extract(epoch FROM j.finished_at - j.created_at)::float AS took
      FROM judging_job j WHERE j.finished_at > (SELECT judge_now()) - interval '1 hour' AND j.priority <> {Priority.JURY:d}
      ORDER BY j.finished_at DESC LIMIT {JUDGED_CAP}) f
GROUP BY 1 ORDER BY 1
"""

_COUNTS = """
SELECT (SELECT count(*) FROM (SELECT 1 FROM judging_job WHERE state = 'running' LIMIT 10001) r),
       (SELECT count(*) FROM runners_runner WHERE state = 'pendingApproval'),
       (SELECT count(*) FROM judging_lane WHERE paused_at IS NOT NULL AND active),
       (SELECT count(*) FROM (SELECT state FROM judging_job WHERE finished_at > (SELECT judge_now()) - interval '1 hour'
                              ORDER BY finished_at DESC LIMIT 20000) f WHERE state = 'failed'),
       judge_now()
"""


@dataclass(frozen=True, slots=True)
class Kind:
    """Waiting work of one kind: how much (`more`: at least that), and since when the oldest waits."""

    need: Need
    depth: int
    more: bool
    oldest: datetime
    paused: bool


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of the whole installation at `now`, by the database's clock; `failed` in the last hour."""

    running: int
    pending: int
    paused_lanes: int
    failed: int
    now: datetime


@dataclass(frozen=True, slots=True)
class Minute:
    """What was judged in one minute; `median` and `p95` are seconds from submission to verdict, None without any."""

    at: datetime
    judged: int
    failed: int
    median: float | None
    p95: float | None


@dataclass(frozen=True, slots=True)
class Why:
    """Why one job waits."""

    obstacle: Obstacle
    words: str


def _rows(statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters or None)
        return list(cursor.fetchall())


def kinds() -> list[Kind]:
    """What may be claimed now, by kind, the longest waiting first."""
    return [
        Kind(Need(kind, external, frozenset(pools)), depth, more, oldest, paused)
        for kind, external, pools, paused, depth, more, oldest in _rows(_KINDS)
    ]


def squads() -> tuple[Squad, ...]:
    """The fleet by what it may judge; revoked keys are no part of it."""
    return tuple(
        Squad(frozenset(types), external, frozenset(tags) or frozenset({DEFAULT_POOL}), *counted)
        for types, external, tags, *counted in _rows(_SQUADS, settings.LIMITS.connected_within)
    )


def counts() -> Counts:
    """The few numbers that are exact."""
    return Counts(*_rows(_COUNTS)[0])


def behind_siblings() -> int:
    """Waiting jobs whose thread is being judged; DEPTH_CAP + 1 means more."""
    return int(_rows(_BEHIND)[0][0])


def tempo() -> list[Minute]:
    """The last hour by minutes, those without a verdict left out."""
    return [Minute(*row) for row in _rows(_TEMPO)]


def running() -> list[Job]:
    """Held jobs, those whose lease ends first in front."""
    held = Job.objects.filter(state=JobState.RUNNING).select_related("lane__problem", "runner")
    return list(held.annotate(now=Clock()).order_by("lease_until")[:RUNNING_CAP])


def need_of(job: Job) -> Need:
    """What a job asks of a runner, by its lane as it is routed now."""
    lane = job.lane
    return Need(lane.problem_type, lane.external, frozenset(lane.pools))


def why(jobs: Iterable[Job]) -> dict[UUID, list[Why]]:
    """For each queued one of these jobs, why it waits. Two queries, none when nothing is queued.

    The jobs come with their lane and thread.
    """
    queued = [job for job in jobs if job.state == JobState.QUEUED]
    if not queued:
        return {}
    fleet, switches = squads(), Installation.read()
    return {job.id: _why(job, fleet, switches) for job in queued}


def _why(job: Job, fleet: tuple[Squad, ...], switches: Installation) -> list[Why]:
    place = Place(
        is_head=job.thread.head == job.id,
        sibling_running=job.thread.running is not None,
        paused=job.lane.paused_at is not None,
        level=switches.level,
        external_judging=switches.external_judging,
    )
    need = need_of(job)
    return [Why(what, sentence(what, need, fleet)) for what in obstacles(need, place, fleet)]
