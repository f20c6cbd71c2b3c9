"""The queue in memory, written from the documents alone: the second opinion that every other store is compared with.

Authority: seeds 000 and 003, queue.md §1-5, runner-protocol §4-8, channel-protocol §4 (the longest hold). It shares no
line with what it judges, keeps mutable things where the store keeps rows, and has one lock where the store has one a
thread. A whole number is its clock.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn

from tests.contract.interface import REJUDGE, URGENT, Act, Answer, Client, Handout, Id, Job, Receipt, Refused, Submission, Swept

DEFAULT_LEASE, SHORTEST_LEASE, LONGEST_LEASE = 600, 60, 3600
GRACE = 60
"""Seconds beyond a problem's own time after the claim, to which a renewal may lead (channel-protocol §4)."""
FREE_RELEASES = FREE_REFUNDS = 3
LONGEST_VERDICT, LONGEST_OUTSIDE = 64, 200
DEFAULT_POOL = frozenset({"default"})


@dataclass(eq=False)
class _Lane:
    problem_type: str
    external: bool
    pools: frozenset[str]
    priority: int
    cap: int
    timeout: int
    paused: bool = False


@dataclass(eq=False)
class _Runner:
    types: frozenset[str]
    external: bool
    pools: frozenset[str]
    standing: str


@dataclass(eq=False)
class _Lease:
    token: str
    runner: Id
    granted: float
    until: float
    latest: float
    heard: bool = False
    roles: set[str] = field(default_factory=set)


@dataclass(eq=False)
class _Thread:
    store: Model
    lane: _Lane
    jobs: list[_Job] = field(default_factory=list)


@dataclass(eq=False)
class _Submission:
    thread: _Thread
    author: Id | None
    lane: Id
    jobs: list[_Job] = field(default_factory=list)
    attempts: int = 0
    deleted: bool = False


@dataclass(eq=False)
class _Job:
    id: str
    age: int
    thread: _Thread
    submission: str
    attempt: int
    priority: int
    urgent: bool
    cap: int
    state: str = "queued"
    lease: _Lease | None = None
    fence: int = 0
    deliveries: int = 0
    releases: int = 0
    refunds: int = 0
    admitted: bool = False
    outside: str | None = None
    cause: str = ""
    replaced_by: str | None = None
    voided: bool = False
    marked: bool = False
    finished_at: float | None = None

    @property
    def open(self) -> bool:
        return self.state in {"queued", "running"}

    @property
    def started(self) -> bool:
        return self.deliveries > 0 or self.admitted

    def come_back(self, cause: str) -> None:
        self.state, self.lease, self.cause = "queued", None, cause

    def come_back_free(self, cause: str) -> None:
        self.deliveries -= 1
        self.come_back(cause)

    def come_back_counted(self, cause: str) -> None:
        """The cap is applied where a delivery ends (queue.md §4)."""
        if self.deliveries >= self.cap:
            self.give_up(cause)
        else:
            self.come_back(cause)

    def give_up(self, cause: str) -> None:
        self.end("failed", f"Given up after {self.deliveries} deliveries: {cause}")

    def end(self, state: str, cause: str = "") -> None:
        self.state, self.lease, self.cause = state, None, cause
        self.finished_at = self.thread.store.clock


def _refuse(code: str) -> NoReturn:
    raise Refused(code)


class Model:
    """The store: `client()` gives the verbs."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.clock = 0.0
        self.issued = 0
        self.lanes: dict[Id, _Lane] = {}
        self.runners: dict[Id, _Runner] = {}
        self.threads: dict[Any, _Thread] = {}
        self.submissions: dict[Id, _Submission] = {}
        self.jobs: dict[Id, _Job] = {}
        self.tickets: dict[Any, tuple[Any, Receipt]] = {}
        self.results: dict[Id, tuple[_Job, Id, str, str]] = {}
        self.level = "open"
        self.external = False

    def new(self, kind: str) -> str:
        """An id that was never used before."""
        self.issued += 1
        return f"{kind} {self.issued}"

    @contextmanager
    def client(self) -> Iterator[Client]:
        yield ModelClient(self)

    def reopen(self) -> None:
        """Memory is what is durable here: there is nothing else to lose."""

    def forward(self, seconds: float) -> None:
        with self.lock:
            self.clock += seconds

    def now(self) -> float:
        return self.clock

    def lane(self, *, problem_type="standard-io@1", external=False, pools=("default",), priority=1, cap=5, timeout=3600) -> Id:
        lane = self.new("lane")
        self.lanes[lane] = _Lane(problem_type, external, frozenset(pools) or DEFAULT_POOL, priority, cap, timeout)
        return lane

    def runner(self, *, types=("standard-io@1",), external=False, tags=(), approved=True) -> Id:
        runner = self.new("runner")
        standing = "approved" if approved else "pending"
        self.runners[runner] = _Runner(frozenset(types), external, frozenset(tags) or DEFAULT_POOL, standing)
        return runner

    def unknown(self) -> Id:
        return self.new("nobody")

    def in_order(self, job: Id, *acts: Act) -> list[Any]:
        """One lock for everything makes any order one after the other."""
        answers: list[Any] = []
        for act in acts:
            try:
                with self.client() as client:
                    answers.append(act(client))
            except Refused as refused:
                answers.append(refused)
        return answers

    def offered(self, runner: Id) -> Id | None:
        """The job this runner would be handed now if no lease lapsed and no cap were reached; None: nothing."""
        asks = self.runners[runner]
        if asks.standing != "approved" or self.level != "open" or (asks.external and not self.external):
            return None
        heads = [head for thread in self.threads.values() if self.fits(asks, thread.lane) and (head := self.head(thread))]
        first = min(heads, key=lambda job: (job.priority, job.age), default=None)
        return first and first.id

    def fits(self, runner: _Runner, lane: _Lane) -> bool:
        """The conditions of runner-protocol §4 that are about the lane."""
        same = lane.problem_type in runner.types and lane.external == runner.external
        return same and bool(lane.pools & runner.pools) and not lane.paused

    def head(self, thread: _Thread) -> _Job | None:
        """Started before not started; then urgent; then age; nothing while one is held (queue.md §4)."""
        if any(job.state == "running" for job in thread.jobs):
            return None
        waiting = (job for job in thread.jobs if job.state == "queued")
        return min(waiting, key=lambda job: (not job.started, not job.urgent, job.age), default=None)


class ModelClient:
    """The verbs. Each checks everything before it changes anything."""

    def __init__(self, store: Model) -> None:
        self.store = store

    def submit(
        self, lane, *, organization=None, author=None, scope="", key=None, thread=None,
        content="", source="", only_if_idle=False, urgent=False,
    ) -> Receipt:  # fmt: skip
        store = self.store
        asked = (thread, lane, content, source, only_if_idle, urgent)
        with store.lock:
            if key is not None and (organization, scope, key) in store.tickets:
                before, receipt = store.tickets[organization, scope, key]
                if before != asked:
                    _refuse("submission.key.reused")
                return Receipt(receipt.submission, receipt.job, existing=True)
            known = store.threads.get((organization, thread)) if thread is not None else None
            if only_if_idle and known and any(job.open for job in known.jobs):
                _refuse("submission.busy")
            held = known or _Thread(store, store.lanes[lane])
            submission = store.new("submission")
            store.threads[(organization, thread) if thread is not None else submission] = held
            store.submissions[submission] = _Submission(held, author, lane)
            receipt = Receipt(submission, self._open(submission, urgent=urgent))
            if key is not None:
                store.tickets[organization, scope, key] = (asked, receipt)
            return receipt

    def _open(self, submission: str, *, urgent: bool) -> str:
        """A new job of a submission; what it replaces gives way (queue.md §4, seed 000)."""
        store = self.store
        sent = store.submissions[submission]
        thread = sent.thread
        attempt = sent.attempts = sent.attempts + 1
        priority = URGENT if urgent else thread.lane.priority if attempt == 1 else REJUDGE
        name = store.new("job")
        for other in thread.jobs:
            if other.state == "queued" and not other.admitted and (urgent or other.submission == submission):
                other.end("superseded")
                other.replaced_by = name
        job = _Job(name, store.issued, thread, submission, attempt, priority, urgent, thread.lane.cap)
        store.jobs[name] = job
        thread.jobs.append(job)
        sent.jobs.append(job)
        return name

    def rejudge(self, submission, *, urgent=False) -> Id:
        with self.store.lock:
            self._live(submission)
            return self._open(submission, urgent=urgent)

    def claim(self, runner, *, lease_seconds=None) -> Handout | None:
        store = self.store
        with store.lock:
            asks = store.runners.get(runner)
            if asks is None or asks.standing != "approved":
                _refuse("runner.notApproved")
            if store.level != "open" or (asks.external and not store.external):
                return None
            self._end_lapsed()
            while (offered := store.offered(runner)) is not None:
                job = store.jobs[offered]
                if job.deliveries < job.cap:
                    return self._hand_out(job, runner, lease_seconds)
                job.give_up(job.cause)
            return None

    def _hand_out(self, job: _Job, runner: Id, asked: float | None) -> Handout:
        granted = _clamped(asked, DEFAULT_LEASE)
        now = self.store.clock
        lease = _Lease(self.store.new("token"), runner, granted, now + granted, now + job.thread.lane.timeout + GRACE)
        job.state, job.lease, job.cause = "running", lease, ""
        job.fence += 1
        job.deliveries += 1
        return Handout(job.id, job.submission, job.attempt, lease.token, runner, granted, lease.until, job.outside)

    def undo_handout(self, job, token) -> None:
        with self.store.lock:
            row = self.store.jobs.get(job)
            if row and row.lease and row.lease.token == token and not row.lease.heard:
                self._lose(row, "hand-out undone")

    def _lose(self, job: _Job, cause: str) -> None:
        """A hand-out never heard of is given back, three times a job; any other counts (seed 000)."""
        assert job.lease is not None
        if not job.lease.heard and job.refunds < FREE_REFUNDS:
            job.refunds += 1
            job.come_back_free(cause)
        else:
            job.come_back_counted(cause)
        self._give_way(job)

    def _give_way(self, job: _Job) -> None:
        """Only one urgent job of a thread waits unstarted, the latest (I3)."""
        waiting = [other for other in job.thread.jobs if other.state == "queued" and other.urgent and not other.started]
        for older in sorted(waiting, key=lambda other: other.age)[:-1]:
            older.end("superseded")
            older.replaced_by = waiting[-1].id

    def _end_lapsed(self) -> list[_Job]:
        """Every lease whose deadline has come; the jobs that were held under them."""
        lapsed = [job for job in self.store.jobs.values() if job.lease and job.lease.until <= self.store.clock]
        for job in lapsed:
            self._lose(job, "lease expired")
        return lapsed

    def _gate(self, job: Id, token: Id | None, runner: Id) -> tuple[_Job, _Lease]:
        """Exists, token current, owner, running; passing it is being heard (runner-protocol §5)."""
        row = self.store.jobs.get(job) or _refuse("not_found")
        if row.lease is None or token is None or row.lease.token != token:
            _refuse("runner.lease.stale")
        if row.lease.runner != runner:
            _refuse("runner.lease.foreign")
        row.lease.heard = True
        return row, row.lease

    def renew(self, job, token, runner, *, lease_seconds=None) -> float:
        with self.store.lock:
            _, lease = self._gate(job, token, runner)
            asked = min(self.store.clock + _clamped(lease_seconds, lease.granted), lease.latest)
            lease.until = max(lease.until, asked)
            return lease.until

    def progress(self, job, token, runner, *, outside=None) -> None:
        if outside is not None and not (outside.strip() and len(outside) <= LONGEST_OUTSIDE):
            _refuse("malformed_request")
        with self.store.lock:
            row, _ = self._gate(job, token, runner)
            self.renew(job, token, runner)
            if outside is not None and outside != row.outside:
                if row.admitted:
                    _refuse("job.admitted")
                row.admitted, row.outside = True, outside

    def attach(self, job, token, runner, *, name) -> None:
        with self.store.lock:
            _, lease = self._gate(job, token, runner)
            if name in lease.roles:
                _refuse("attempt.file.duplicate")
            lease.roles.add(name)

    def release(self, job, token, runner) -> None:
        with self.store.lock:
            row, _ = self._gate(job, token, runner)
            row.releases += 1
            (row.come_back_free if row.releases <= FREE_RELEASES else row.come_back_counted)("released")
            self._give_way(row)

    def report(self, job, token, runner, *, verdict="Accepted", infrastructure=None) -> Answer:
        with self.store.lock:
            row = self.store.jobs.get(job) or _refuse("not_found")
            if token is None:
                _refuse("runner.lease.malformed")
            of, by, result, _ = self.store.results.get(token, (None, None, "", ""))
            if of is row and by == runner:
                return Answer(row.state, result, duplicate=True)
            self._gate(job, token, runner)
            if infrastructure is not None and row.deliveries < row.cap:
                row.come_back(infrastructure)
                self._give_way(row)
                return Answer(row.state, None, duplicate=False)
            if infrastructure is None and not verdict.strip():
                _refuse("result.verdict.missing")
            if infrastructure is None and len(verdict) > LONGEST_VERDICT:
                _refuse("result.verdict.tooLong")
            return self._finish(row, token, runner, verdict=verdict, infrastructure=infrastructure)

    def _finish(self, row: _Job, token: Id, runner: Id, *, verdict: str, infrastructure: str | None) -> Answer:
        result = self.store.new("result")
        self.store.results[token] = (row, runner, result, "" if infrastructure is not None else verdict)
        if infrastructure is None:
            row.end("completed")
            row.admitted = True
        else:
            row.give_up(f"infrastructure failure: {infrastructure}")
        return Answer(row.state, result, duplicate=False)

    def _open_job(self, job: Id) -> _Job:
        row = self.store.jobs.get(job) or _refuse("not_found")
        return row if row.open else _refuse("job.state")

    def cancel(self, job) -> None:
        with self.store.lock:
            self._open_job(job).end("cancelled", "cancelled")

    def give_back(self, job) -> None:
        with self.store.lock:
            row = self._open_job(job)
            if row.lease is None:
                _refuse("job.state")
            row.come_back("returned by an operator")
            self._give_way(row)

    def prioritise(self, job, priority) -> None:
        with self.store.lock:
            self._open_job(job).priority = priority

    def void(self, job) -> None:
        with self.store.lock:
            row = self.store.jobs.get(job) or _refuse("not_found")
            if row.state != "completed" or row.voided:
                _refuse("job.state")
            row.voided = True

    def _live(self, submission: Id) -> _Submission:
        sent = self.store.submissions.get(submission)
        return sent if sent and not sent.deleted else _refuse("not_found")

    def delete(self, submission, *, forget_keys=False) -> bool:
        with self.store.lock:
            sent = self.store.submissions.get(submission) or _refuse("not_found")
            if sent.deleted:
                return False
            sent.deleted = True
            for job in [job for job in sent.jobs if job.open]:
                job.end("cancelled", "deleted")
                job.marked = True
            if forget_keys:
                tickets = self.store.tickets
                self.store.tickets = {key: kept for key, kept in tickets.items() if kept[1].submission != submission}
            return True

    def delete_work_of(self, *, authors=(), lanes=()) -> int:
        with self.store.lock:
            sent = self.store.submissions.items()
            doomed = [name for name, of in sent if not of.deleted and (of.author in authors or of.lane in lanes)]
            return sum(self.delete(name) for name in doomed)

    def approve(self, runner) -> None:
        with self.store.lock:
            row = self.store.runners.get(runner) or _refuse("not_found")
            if row.standing == "revoked":
                _refuse("runner.revoked")
            row.standing = "approved"

    def revoke(self, runner) -> list[Id]:
        with self.store.lock:
            row = self.store.runners.get(runner) or _refuse("not_found")
            row.standing = "revoked"
            held = [job for job in self.store.jobs.values() if job.lease and job.lease.runner == runner]
            for job in held:
                job.come_back("runner revoked")
                self._give_way(job)
            return [job.id for job in held]

    def retag(self, runner, tags) -> None:
        self.store.runners[runner].pools = frozenset(tags) or DEFAULT_POOL

    def reroute(self, lane, pools) -> None:
        self.store.lanes[lane].pools = frozenset(pools) or DEFAULT_POOL

    def pause(self, lane) -> None:
        self.store.lanes[lane].paused = True

    def resume(self, lane) -> None:
        self.store.lanes[lane].paused = False

    def maintenance(self, level) -> None:
        self.store.level = level

    def external_judging(self, *, on) -> None:
        self.store.external = on

    def sweep(self) -> Swept:
        with self.store.lock:
            lapsed = self._end_lapsed()
            given_up = sum(job.state == "failed" for job in lapsed)
            if self.store.level == "draining" and not any(job.lease for job in self.store.jobs.values()):
                self.store.level = "closed"
            return Swept(len(lapsed), len(lapsed) - given_up, given_up, orphaned=0)

    def prune(self, lane, *, seconds) -> int:
        with self.store.lock:
            sent = [of for of in self.store.submissions.values() if of.lane == lane]
            moment = self.store.clock - seconds
            old = [job for of in sent for job in of.jobs if job.finished_at is not None and job.finished_at < moment]
            for job in old:
                del self.store.jobs[job.id]
                job.thread.jobs.remove(job)
                self.store.submissions[job.submission].jobs.remove(job)
            gone = {job.id for job in old}
            self.store.tickets = {key: kept for key, kept in self.store.tickets.items() if kept[1].job not in gone}
            return len(old)

    def job(self, job) -> Job:
        with self.store.lock:
            row = self.store.jobs.get(job) or _refuse("not_found")
            lease = row.lease
            verdicts = [said for of, _, _, said in self.store.results.values() if of is row]
            return Job(
                row.id, row.submission, row.attempt, row.state, row.priority, row.urgent,
                row.deliveries, row.releases, row.refunds, row.fence,
                lease and lease.token, lease and lease.runner, lease and lease.until, bool(lease and lease.heard),
                row.admitted, row.outside, not row.open, row.cause, row.replaced_by, row.voided, row.marked,
                verdicts[0] if verdicts else None,
            )  # fmt: skip

    def submission(self, submission) -> Submission:
        with self.store.lock:
            sent = self.store.submissions.get(submission) or _refuse("not_found")
            return Submission(sent.deleted, tuple(job.id for job in sorted(sent.jobs, key=lambda job: job.attempt)))


def _clamped(asked: float | None, default: float) -> float:
    """What was asked, within the published bounds, in whole seconds; never refused (seed 000)."""
    return default if asked is None else int(min(max(asked, SHORTEST_LEASE), LONGEST_LEASE))
