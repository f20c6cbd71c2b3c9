"""sweep: what the database's clock ends. Cron is the guarantee, the server's ticker the speed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import structlog
from django.conf import settings
from django.db import connection

from judging.durable import one_look, one_transaction
from judging.errors import Refusal
from judging.hold import Hold, hold_job_unless_locked
from judging.models import Job
from judging.queue.process import left_over, process
from judging.queue.rest import rest_lanes
from judging.queue.switch import close_if_drained
from judging.queue.verify import verify
from judging.queue.work_off import work_off
from judging.rows import JobRow
from judging.rules import Overdue, overdue
from judging.states import Cause, JobState, RecordType
from runners.models import Runner, RunnerState

log = structlog.get_logger()
_DUE = """
INSERT INTO judging_installation AS i (id, level, reason, external_judging, last_sweep_at, last_sweep)
VALUES (1, 'open', '', false, judge_now(), '')
ON CONFLICT (id) DO UPDATE SET last_sweep_at = EXCLUDED.last_sweep_at
WHERE i.last_sweep_at IS NULL OR i.last_sweep_at < EXCLUDED.last_sweep_at - %s::interval
RETURNING 1
"""
_LAPSED = """
SELECT id FROM judging_job WHERE state = 'running' AND outcome IS NULL
    AND (lease_until <= judge_now() OR started_at + make_interval(secs => timeout + %s + 1) <= judge_now())
ORDER BY lease_until
"""


@dataclass(slots=True)
class Swept:
    """What one sweep did. `bad` counts rows that raised an error; they never stop the sweep."""

    returned: int = 0
    given_up: int = 0
    lapsed: int = 0
    orphaned: int = 0
    processed: int = 0
    repaired: int = 0
    rejudged: int = 0
    verified: int = 0
    bad: int = 0

    def __str__(self) -> str:
        return (
            f"{self.returned} returned, {self.given_up} given up, {self.lapsed} lapsed, "
            f"{self.orphaned} taken from revoked runners, {self.processed} outcomes processed, "
            f"{self.repaired} lanes put to rest, {self.rejudged} attempts of rejudgings, "
            f"{self.verified} of verifications, {self.bad} bad"
        )


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
    """One pass over everything the clock decides; any number may run at once."""
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
def _lapsed() -> Iterable[UUID]:
    """Jobs past their deadline or their hard limit, longest wait first: a reaper that dies halfway must not starve the oldest."""
    with connection.cursor() as cursor:
        cursor.execute(_LAPSED, [settings.LIMITS.hard_limit(0)])
        return [row[0] for row in cursor.fetchall()]


@one_look()
def _orphans() -> Iterable[UUID]:
    """Jobs whose runner is revoked or gone: what a revocation that died halfway left behind."""
    approved = Runner.objects.filter(state=RunnerState.APPROVED).values("id")
    return list(Job.objects.filter(state=JobState.RUNNING).exclude(runner__in=approved).values_list("id", flat=True))


def _each(swept: Swept, jobs: Iterable[UUID], act: Callable[[Hold, UUID, Swept], None]) -> None:
    """One transaction a job; a bad row is logged and left, the next one goes on."""
    for job in jobs:
        try:
            with one_transaction():
                held = hold_job_unless_locked(job)
                if held is not None:
                    act(held, job, swept)
                    held.write()
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


def _end_lapsed(held: Hold, job: UUID, swept: Swept) -> None:
    before = held.jobs[job]
    state = expire_running(held, actor="reaper")
    if state is None:
        return
    swept.lapsed += 1
    swept.given_up += state is JobState.FAILED
    swept.returned += state is JobState.QUEUED
    log.info("lease_expired", job=str(job), runner=str(before.runner), left=str(state))


def _take_back(held: Hold, job: UUID, swept: Swept) -> None:
    row = held.jobs[job]
    if row.runner is not None and row.outcome is None and not Runner.objects.filter(id=row.runner, state=RunnerState.APPROVED).exists():
        held.move(job, RecordType.REQUEUED, actor="reaper", cause=Cause.REVOKED, token=str(row.token))
        held.returned(job, actor="reaper")
        swept.orphaned += 1


def _note(swept: Swept) -> None:
    """When the queue was last swept, for the operators' dashboard."""
    with one_transaction(), connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO judging_installation (id, level, reason, external_judging, last_sweep_at, last_sweep) "
            "VALUES (1, 'open', '', false, judge_now(), %s) ON CONFLICT (id) DO UPDATE "
            "SET last_sweep_at = EXCLUDED.last_sweep_at, last_sweep = EXCLUDED.last_sweep",
            [str(swept)[:200]],
        )
