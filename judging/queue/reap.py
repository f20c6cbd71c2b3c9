"""sweep: what the database's clock ends. Cron is the guarantee, the server's ticker the speed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from uuid import UUID

import structlog
from django.conf import settings
from django.db import connection

from judging.durable import one_look, one_transaction
from judging.errors import Refusal, StorageUnavailable
from judging.hold import Hold, hold_jobs_unless_locked, write_all
from judging.models import Job
from judging.queue.process import left_over, process
from judging.queue.rest import rest_lanes
from judging.queue.swept import Ended, Swept
from judging.queue.switch import close_if_drained
from judging.queue.verify import verify
from judging.queue.work_off import work_off
from judging.rows import JobRow
from judging.rules import Overdue, overdue
from judging.states import Cause, JobState, RecordType
from runners.models import Runner, RunnerState

log = structlog.get_logger()
TOGETHER = 10
"""How many threads a sweep holds at once: a runner's own call may have to wait for all of them to be written."""
REST = 0.2
"""How long it rests after each, by how long that took: ten thousand leases that lapse together must not stop the claims."""
_DUE = """
INSERT INTO judging_installation AS i (id, level, reason, external_judging, last_sweep_at, last_sweep)
VALUES (1, 'open', '', false, judge_now(), '')
ON CONFLICT (id) DO UPDATE SET last_sweep_at = EXCLUDED.last_sweep_at
WHERE i.last_sweep_at IS NULL OR i.last_sweep_at < EXCLUDED.last_sweep_at - %s::interval
RETURNING 1
"""
_LAPSED = """
SELECT id FROM judging_job WHERE state = 'running' AND outcome IS NULL
    AND (lease_until <= judge_now() OR started_at + make_interval(secs => timeout::double precision + %s + 1) <= judge_now())
ORDER BY lease_until
"""


Act = Callable[[Hold, UUID], Ended | None]


def expire_running(held: Hold, *, actor: str) -> JobState | None:
    """End the lapsed lease of a held thread, if there is one; the state its job is left in, or None.

    Judged by the clock read after the lock: a renewal that came first has saved the lease.
    """
    for row in list(held.jobs.values()):
        if row.state is not JobState.RUNNING or row.outcome is not None:
            continue
        if (ended := end_overdue(held, row, actor=actor)) is not None:
            return ended.state
        if row.lease_until is not None and row.lease_until <= held.at:
            return expire(held, row, actor=actor).state
    return None


def expire(held: Hold, row: JobRow, *, actor: str) -> JobRow:
    """End a lapsed lease; the row it leaves."""
    held.move(row.id, RecordType.EXPIRED, actor=actor, token=str(row.token), free=settings.LIMITS.free_refunds)
    return held.returned(row.id, actor=actor)


def end_overdue(held: Hold, row: JobRow, *, actor: str) -> JobRow | None:
    """End a held run that is over its hard limit: cancelled, or lost when contact was lost before; None when it is not."""
    limits = settings.LIMITS
    match overdue(row, held.at, limits=limits):
        case Overdue.LOST:
            return expire(held, row, actor=actor)
        case Overdue.LIMIT:
            limit = limits.hard_limit(row.timeout)
            reason = f"the run exceeded its limit of {limit} seconds"
            return held.move(row.id, RecordType.CANCELLED, actor=actor, reason=reason, limit=limit)
    return None


def sweep() -> Swept:
    """One pass over everything the clock decides; any number may run at once. Raises StorageBusy, StorageUnavailable."""
    swept = Swept()
    _each(swept, _lapsed(), _end_lapsed)
    _each(swept, _orphans(), _take_back)
    swept.processed = sum(_process(outcome) for outcome in left_over())
    swept.repaired = rest_lanes()
    close_if_drained()
    swept.rejudged = work_off()
    swept.verified = verify()
    _note(swept)
    return swept


def sweep_if_due(every: timedelta) -> Swept | None:
    """As sweep, unless some process swept less than `every` ago: then None (the ticker's form).

    A compare-and-set on the installation's row rather than an advisory lock, which a transaction pooler would leak.
    """
    with one_transaction(), connection.cursor() as cursor:
        cursor.execute(_DUE, [str(every)])
        due = cursor.fetchone() is not None
    return sweep() if due else None


@one_look()
def _lapsed() -> list[UUID]:
    """Jobs past their deadline or their hard limit, longest wait first: a reaper that dies halfway must not starve the oldest."""
    with connection.cursor() as cursor:
        cursor.execute(_LAPSED, [settings.LIMITS.hard_limit(0)])
        return [row[0] for row in cursor.fetchall()]


@one_look()
def _orphans() -> list[UUID]:
    """Jobs whose runner is revoked or gone: what a revocation that died halfway left behind."""
    approved = Runner.objects.filter(state=RunnerState.APPROVED).values("id")
    return list(Job.objects.filter(state=JobState.RUNNING).exclude(runner__in=approved).values_list("id", flat=True))


def _each(swept: Swept, jobs: Sequence[UUID], act: Act) -> None:
    """So many at a time, in one transaction; of a batch that fails each alone, so that a bad row keeps no other back.

    Raises StorageUnavailable when the database is gone: the next sweep goes on from what is left.
    """
    for batch in batches(jobs):
        began = time.perf_counter()
        try:
            ended = _together(batch, act)
        except Exception as failed:  # whatever it was, each tells its own below
            if isinstance(failed, StorageUnavailable):
                _ask_for_nothing()
            for job in batch:
                _alone(swept, job, act)
        else:
            swept.count(ended)
        time.sleep((time.perf_counter() - began) * REST)


def _ask_for_nothing() -> None:
    """Ten thousand jobs are not to be tried one by one at a database that is away. Raises StorageUnavailable when it is."""
    with one_look(), connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def batches(jobs: Sequence[UUID]) -> Iterator[Sequence[UUID]]:
    """The jobs in their order, TOGETHER at a time."""
    return (jobs[place : place + TOGETHER] for place in range(0, len(jobs), TOGETHER))


def _together(jobs: Sequence[UUID], act: Act) -> list[Ended]:
    """End what is to be ended of these, all of it or nothing."""
    with one_transaction():
        held = hold_jobs_unless_locked(jobs)
        ended = [end for job, hold in held if (end := act(hold, job)) is not None]
        write_all([hold for _, hold in held])
    return ended


def _alone(swept: Swept, job: UUID, act: Act) -> None:
    """A bad row is logged and left."""
    try:
        swept.count(_together([job], act))
    except Refusal as refusal:
        swept.bad += 1
        log.warning("sweep_refused", job=str(job), code=refusal.code)
    except Exception:
        swept.bad += 1
        log.exception("sweep_failed", job=str(job))


def _process(outcome: UUID) -> bool:
    """Process what was stored and not processed; what cannot be is logged, and tried again by the next sweep."""
    try:
        return process(outcome)
    except Exception:
        log.exception("outcome_not_processed", outcome=str(outcome))
        return False


def _end_lapsed(held: Hold, job: UUID) -> Ended | None:
    before = held.jobs[job]
    state = expire_running(held, actor="reaper")
    return None if state is None else Ended(before, state)


def _take_back(held: Hold, job: UUID) -> Ended | None:
    row = held.jobs[job]
    if row.runner is None or row.outcome is not None or Runner.objects.filter(id=row.runner, state=RunnerState.APPROVED).exists():
        return None
    held.move(job, RecordType.REQUEUED, actor="reaper", cause=Cause.REVOKED, token=str(row.token))
    return Ended(row, held.returned(job, actor="reaper").state, orphaned=True)


def _note(swept: Swept) -> None:
    """When the queue was last swept, for the operators' dashboard."""
    with one_transaction(), connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO judging_installation (id, level, reason, external_judging, last_sweep_at, last_sweep) "
            "VALUES (1, 'open', '', false, judge_now(), %s) ON CONFLICT (id) DO UPDATE "
            "SET last_sweep_at = EXCLUDED.last_sweep_at, last_sweep = EXCLUDED.last_sweep",
            [str(swept)[:200]],
        )
