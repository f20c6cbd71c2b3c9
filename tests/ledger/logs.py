"""Ledgers made in memory by the published rules, honest or forged, without a database."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from judging import rows
from judging.records import NO_ROW, VERSION, Record, row_digest
from judging.rows import JobRow, Move
from judging.rules import displaced_on_return, head_of, superseded_by_new
from judging.states import OPEN, Cause, JobState, RecordType

BEGIN = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
THREAD, SUBMISSION, OTHER_SUBMISSION = UUID(int=1), UUID(int=2), UUID(int=3)
BOX, OTHER_BOX = UUID(int=11), UUID(int=12)


def job(number: int) -> UUID:
    """The id of a thread's n-th job."""
    return UUID(int=1000 + number)


def token(number: int) -> UUID:
    """The n-th lease token."""
    return UUID(int=5000 + number)


class Log:
    """A thread's records as the server would write them; `forge` writes what it never would, well chained."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.jobs: dict[UUID, JobRow] = {}
        self.now = BEGIN
        self._jobs = self._tokens = 0

    @property
    def tail(self) -> bytes:
        return self.records[-1].hash if self.records else b""

    def wait(self, seconds: float) -> Log:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)
        return self

    def write(self, kind: RecordType, job: UUID, *, actor: str = "system", **data: Any) -> JobRow:
        """One honest record. Raises Illegal when the rules refuse it."""
        after = rows.apply(self.jobs.get(job), Move(kind, job, self.now, data, len(self.records) + 1))
        self.jobs[job] = after
        self.forge(kind, job, actor=actor, after=row_digest(after), **data)
        return after

    def forge(self, kind: str, job: UUID, *, actor: str = "system", after: bytes = NO_ROW, v: int = VERSION, **data: Any) -> None:
        """Any record, with the right number and hash."""
        record = Record(THREAD, len(self.records) + 1, self.now, v, str(kind), job, actor, data, after)
        self.records.append(record._replace(hash=record.chained(self.tail)))

    def open(self) -> list[JobRow]:
        return [row for row in self.jobs.values() if row.state in OPEN]

    def submit(self, *, submission: UUID = SUBMISSION, urgent: bool = False, cap: int = 5, **other: Any) -> UUID:
        """Open a job, ending what it replaces."""
        self._jobs += 1
        new = job(self._jobs)
        for row in superseded_by_new(self.jobs.values(), submission=submission, urgent=urgent):
            self.write(RecordType.SUPERSEDED, row.id, by=str(new))
        attempt = 1 + max((row.attempt for row in self.jobs.values() if row.submission == submission), default=0)
        ids = {"thread": str(THREAD), "submission": str(submission), "lane": str(UUID(int=4)), "version": str(UUID(int=5))}
        said: dict[str, Any] = {"attempt": attempt, "priority": 1, "urgent": urgent, "cap": cap, "reason": None}
        self.write(RecordType.SUBMITTED, new, actor="user:1", **ids | said | other)
        return new

    def claim(self, *, box: UUID = BOX, granted: int = 60, channel: bool = False) -> JobRow:
        """Hand the head out."""
        head = head_of(self.jobs.values()).job
        assert head is not None
        self._tokens += 1
        said = {"token": str(token(self._tokens)), "runner": str(box), "granted": granted, "channel": channel}
        return self.write(RecordType.LEASED, head, actor=f"runner:{box}", **said)

    def held(self, kind: RecordType, row: JobRow, **data: rows.Scalar) -> JobRow:
        """What the holder of a job does."""
        return self.write(kind, row.id, actor=f"runner:{row.runner}", token=str(row.token), **data)

    def report(self, row: JobRow, verdict: str = "Accepted", *, judged: bool = True) -> JobRow:
        """The holder's result."""
        return self.held(RecordType.REPORTED, row, **reported(judged=judged, verdict=verdict))

    def returned(self, row: JobRow) -> JobRow:
        """After a job came back: it may have to give way."""
        heir = displaced_on_return(self.jobs[row.id], self.jobs.values())
        return self.write(RecordType.DISPLACED, row.id, by=str(heir.id)) if heir else row

    def arrive(self, row: JobRow, *, box: UUID = BOX) -> JobRow:
        """An outcome on the channel, of the holder or of the one who was lost."""
        said = {"token": str(row.token or row.lost), "outcome": str(UUID(int=8000))}
        return self.write(RecordType.ARRIVED, row.id, actor=f"runner:{row.runner or box}", **said)

    def expire(self, row: JobRow, *, free: int = 3) -> JobRow:
        """Take a job back at its deadline, or now when that is later."""
        assert row.lease_until is not None
        self.now = max(self.now, row.lease_until)
        self.write(RecordType.EXPIRED, row.id, actor="reaper", token=str(row.token), free=free)
        return self.returned(self.jobs[row.id])

    def reclaim(self, row: JobRow) -> None:
        """Remove a finished job's row."""
        self.jobs.pop(row.id)
        self.forge(RecordType.RECLAIMED, row.id)


def reported(*, judged: bool = True, verdict: str = "Accepted") -> dict[str, rows.Scalar]:
    """What a `reported` record says besides its token."""
    scores = {"score": "1.0", "max_score": "1.0"} if judged else {"score": None, "max_score": None}
    reason = None if judged else "it crashed"
    return {"judged": judged, "reason": reason, "result": str(UUID(int=9000)), "verdict": verdict, "documents": "", **scores}


def random_log(seed: int, *, steps: int) -> Log:
    """A thread to which anything happened that the rules allow."""
    log, dice = Log(), random.Random(seed)
    log.submit(urgent=dice.random() < 0.2, cap=dice.choice([1, 2, 5]))
    for _ in range(steps):
        log.wait(dice.choice([0, 0.000001, 5, 59.999999, 60, 61]))
        dice.choice(_STEPS)(log, dice)
    return log


def _running(log: Log) -> JobRow | None:
    return next((row for row in log.open() if row.state is JobState.RUNNING), None)


def _submit(log: Log, dice: random.Random) -> None:
    log.submit(submission=dice.choice([SUBMISSION, OTHER_SUBMISSION]), urgent=dice.random() < 0.4, cap=dice.choice([1, 2, 5]))


def _claim(log: Log, dice: random.Random) -> None:
    head = head_of(log.jobs.values())
    if head.job is None or head.running is not None:
        return
    row = log.jobs[head.job]
    if row.deliveries >= row.cap:
        log.write(RecordType.REQUEUED, row.id, cause=Cause.EXHAUSTED.value, reason=row.reason)
    else:
        log.claim(box=dice.choice([BOX, OTHER_BOX]), granted=dice.choice([60, 61, 600]), channel=dice.random() < 0.5)


def _hold(log: Log, dice: random.Random) -> None:
    row = _running(log)
    if row is None or row.outcome is not None:
        return
    if row.channel and row.started_at is None and dice.random() < 0.5:
        log.held(RecordType.STARTED, row, seconds=60, limit=600)
    elif row.channel and dice.random() < 0.3:
        log.arrive(row)
    else:
        kind = dice.choice([RecordType.RENEWED, RecordType.HEARD, RecordType.ADMITTED])
        said: dict[RecordType, dict[str, Any]] = {RecordType.RENEWED: {"seconds": 60}, RecordType.ADMITTED: {"outside": "x1"}}
        log.held(kind, row, **said.get(kind, {}))


def _give_up(log: Log, dice: random.Random) -> None:
    row = _running(log)
    if row is None or row.outcome is not None:
        return
    if dice.random() < 0.4:
        log.expire(row, free=dice.choice([0, 3]))
    elif row.channel and dice.random() < 0.3:
        log.held(RecordType.FAILED, row, reason="it crashed")
    elif dice.random() < 0.3:
        log.held(RecordType.RELEASED, row, free=dice.choice([0, 3]))
        log.returned(row)
    elif row.deliveries < row.cap:
        log.held(RecordType.REQUEUED, row, cause=Cause.INFRASTRUCTURE.value, reason="it crashed")
        log.returned(row)
    else:
        log.report(row, verdict="", judged=False)


def _report(log: Log, dice: random.Random) -> None:
    row = _running(log)
    if row is not None:
        log.report(row, dice.choice(["Accepted", "Wrong answer"]))


def _operate(log: Log, dice: random.Random) -> None:
    row = dice.choice(list(log.jobs.values()) or [None])
    if row is None:
        return
    by: dict[str, Any] = {"actor": "user:1", "reason": "because"}
    if row.lost is not None:
        _find(log, dice, row)
    elif row.state in OPEN:
        ending = RecordType.DELETE_MARKED if row.outcome else RecordType.CANCELLED
        kind = dice.choice([ending, RecordType.DELETE_MARKED, RecordType.PRIORITISED, RecordType.REFUSED])
        log.write(kind, row.id, **by | ({"priority": 4} if kind is RecordType.PRIORITISED else {}))
    elif row.state is JobState.COMPLETED and row.voided_at is None:
        log.write(RecordType.VOIDED, row.id, **by)
    elif dice.random() < 0.3:
        log.reclaim(row)


def _find(log: Log, dice: random.Random, row: JobRow) -> None:
    """The outcome of a runner that was lost comes after all, and is made a result or not."""
    if row.outcome is None:
        actor = next(record.actor for record in reversed(log.records) if record.type == "leased" and record.job == row.id)
        said = {"token": str(row.lost), "outcome": str(UUID(int=8000))}
        log.write(RecordType.ARRIVED, row.id, actor=actor, **said)
    elif dice.random() < 0.5:
        log.write(RecordType.FAILED, row.id, actor="system", token=str(row.lost), reason="no verdict in it")
    else:
        actor = next(record.actor for record in reversed(log.records) if record.type == "leased" and record.job == row.id)
        log.write(RecordType.REPORTED, row.id, actor=actor, token=str(row.lost), **reported())


_STEPS: list[Callable[[Log, random.Random], None]] = [_submit, _claim, _claim, _hold, _hold, _give_up, _report, _operate]
