"""report: the holder's result ends the job; its infrastructure failure sends it back (runner-protocol §8)."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.conf import settings

from judging.durable import one_statement
from judging.errors import LeaseMalformed, LeaseStale, Refusal, VerdictMissing, VerdictTooLong
from judging.hold import Hold
from judging.models import Result
from judging.queue.attach import attach_held
from judging.queue.renew import hear
from judging.queue.result import Report, data_of, documents_of, result_of, store, stored_score
from judging.records import canonical
from judging.refused import hold_by_lease
from judging.rows import JobRow
from judging.states import OPEN, Cause, JobState, RecordType
from judging.text import cut, storable
from judging.wake import Judged, Work, announce
from runners.keys import new_id
from runners.prepared import prepared_cursor

AT_ONCE = f"SELECT * FROM judge_report({', '.join(['%s'] * 12)})"
"""The gate, the result, its record and the thread's next head: one statement, which is its own transaction."""
COUNT = "UPDATE runners_runner SET jobs_done = jobs_done + 1 WHERE id = %s"


@dataclass(frozen=True, slots=True)
class Reported:
    """What the runner is answered. `result` is None when the job went back to the queue."""

    result: UUID | None
    state: JobState
    duplicate: bool


def report(job: UUID, said: Report, *, token: UUID | None, runner: UUID) -> Reported:
    """Take a report, exactly once a lease token: a repeat answers the stored result again (seed 000).

    `token` is None when what came could not be a token. Raises, in this order: NotFound, LeaseMalformed,
    (repeat), LeaseStale, LeaseForeign, JobStateWrong, VerdictMissing, VerdictTooLong. The last two keep the delivery
    heard: anything its runner did answer against counts (seed 000).
    """
    taken = _at_once(job, said, token=token, runner=runner)
    if taken is not None:
        return taken
    answer = _under_lock(job, said, token=token, runner=runner)
    if isinstance(answer, Refusal):
        raise answer
    return answer


def _under_lock(job: UUID, said: Report, *, token: UUID | None, runner: UUID) -> Reported | Refusal:
    """As report; a refusal of the verdict is answered, so that what it leaves is committed before it is raised."""
    answer: Reported | Refusal
    claimed = None if said.infrastructure_failure else cut(storable(said.verdict or ""), settings.LIMITS.verdict_length)
    with hold_by_lease(job, "report", token=token, runner=runner, verdict=claimed) as held:
        if token is None:
            raise LeaseMalformed
        repeated = _repeat(held.jobs[job], token=token, runner=runner)
        if repeated is not None:
            return repeated
        row = held.gate(job, token=token, runner=runner)
        take = _infrastructure_failure if said.infrastructure_failure else judge
        try:
            answer = take(held, row, said)
        except (VerdictMissing, VerdictTooLong) as refused:
            hear(held, row)
            answer = refused
        held.write()
        if held.jobs[job].state in OPEN:
            # Who waits for the verdict looks again whatever came of it: a job that went back is news too.
            announce(Judged(row.submission))
    return answer


def _at_once(job: UUID, said: Report, *, token: UUID | None, runner: UUID) -> Reported | None:
    """The holder's plain verdict, which nearly every report is; None for all else, and nothing was done then."""
    if token is None or said.infrastructure_failure or said.files:
        return None
    try:
        verdict = _verdict(said)
    except Refusal:
        return None
    result, documents = new_id(), documents_of(said)
    data = data_of(said, token=token, result=result, verdict=verdict, judged=True, reason=None)
    scores = stored_score(said.score), stored_score(said.max_score)
    values = [job, token, runner, result, verdict, *scores, *documents, canonical(data).decode()]
    with one_statement(), prepared_cursor() as cursor:
        cursor.execute(AT_ONCE, values)
        answer, submission, fresh, problem_type, external, pools = cursor.fetchone()
    if answer != "taken":
        return None
    announce(Judged(submission), *([Work(problem_type, external, frozenset(pools))] if fresh else []))
    return Reported(result, JobState.COMPLETED, duplicate=False)


def check_lease(job: UUID, *, token: UUID | None, runner: UUID) -> Reported | None:
    """The part of `report` that comes before its documents are looked at: a repeat's answer, or None.

    Doors that must refuse a document first ask this, so that a stale holder hears of its lease and not of
    its document. `report` asks again under its own lock. Raises as report does, up to JobStateWrong.
    """
    with hold_by_lease(job, "report", token=token, runner=runner) as held:
        if token is None:
            raise LeaseMalformed
        repeated = _repeat(held.jobs[job], token=token, runner=runner)
        if repeated is None:
            held.gate(job, token=token, runner=runner)
        return repeated


def _repeat(row: JobRow, *, token: UUID, runner: UUID) -> Reported | None:
    """The stored answer when this very lease has reported before, by this very runner.

    A lease that is still the job's has not: a report retires its token in the transaction that stores the result.
    """
    if row.token == token:
        return None
    result = Result.objects.filter(token=token).only("id", "job_id", "runner_id").first()
    if result is None:
        return None
    if result.job_id != row.id or result.runner_id != runner:
        raise LeaseStale
    return Reported(result.id, row.state, duplicate=True)


def _verdict(said: Report) -> str:
    verdict = storable(said.verdict or "")
    if not verdict.strip():
        raise VerdictMissing
    if len(verdict) > settings.LIMITS.verdict_length:
        raise VerdictTooLong
    return verdict


def judge(held: Hold, row: JobRow, said: Report) -> Reported:
    """End a held job with a verdict. `row` names the delivery and the runner whose result it is.

    Raises VerdictMissing, VerdictTooLong.
    """
    verdict = _verdict(said)
    _attach_all(held, row, said)
    result = result_of(held, row, said, verdict=verdict)
    after = _finish(held, row, result, said, judged=True, reason=None)
    store(held, result)
    held.beside(COUNT, [row.runner])
    return Reported(result.id, after.state, duplicate=False)


def _infrastructure_failure(held: Hold, row: JobRow, said: Report) -> Reported:
    """Below the cap the job goes back with its reason kept; at the cap it fails with a result without score."""
    reason = cut(storable(said.failure_reason), settings.LIMITS.reason_bytes) or "no reason given"
    _attach_all(held, row, said)
    actor = f"runner:{row.runner}"
    if row.deliveries < row.cap:
        cause = Cause.INFRASTRUCTURE
        held.move(row.id, RecordType.REQUEUED, actor=actor, cause=cause, token=str(row.token), reason=reason)
        return Reported(None, held.returned(row.id, actor=actor).state, duplicate=False)
    result = result_of(held, row, said, verdict="")
    after = _finish(held, row, result, said, judged=False, reason=reason)
    store(held, result)
    return Reported(result.id, after.state, duplicate=False)


def _finish(held: Hold, row: JobRow, result: Result, said: Report, *, judged: bool, reason: str | None) -> JobRow:
    """The record that ends the job."""
    assert row.token is not None
    data = data_of(said, token=row.token, result=result.id, verdict=result.verdict, judged=judged, reason=reason)
    return held.move(row.id, RecordType.REPORTED, actor=f"runner:{row.runner}", **data)


def _attach_all(held: Hold, row: JobRow, said: Report) -> None:
    """Attach what came with the report; a file that cannot be attached is left out, the result stands."""
    for name, file in said.files:
        try:
            attach_held(held, row, file=file, name=name)
        except Refusal:
            continue
