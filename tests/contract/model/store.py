"""The store in memory: what there is, which job is offered, and what ends by the clock."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.contract.channel import ChannelClient
from tests.contract.interface import REJUDGE, URGENT, Act, Id, Receipt, Refused
from tests.contract.model.channel import Channel
from tests.contract.model.holders import GRACE, LONGEST_VERDICT
from tests.contract.model.operators import Operators
from tests.contract.model.things import Entry, Lane, Outcome, Runner, Sent, Thread

FREE_REFUNDS = 3
LEFT_OVER = 60
"""Seconds after which a sweep takes an outcome that nobody processed; no page says how many."""
DEFAULT_POOL = frozenset({"default"})


class ModelClient(Channel, Operators):
    """Every verb. Each checks everything before it changes anything."""


class Model:
    """The store: `client()` gives the verbs."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.clock = 0.0
        self.issued = 0
        self.lanes: dict[Id, Lane] = {}
        self.runners: dict[Id, Runner] = {}
        self.threads: dict[Any, Thread] = {}
        self.submissions: dict[Id, Sent] = {}
        self.jobs: dict[Id, Entry] = {}
        self.tickets: dict[Any, tuple[Any, Receipt]] = {}
        self.results: dict[Id, tuple[Entry, Id, str, str]] = {}
        self.outcomes: dict[Id, Outcome] = {}
        self.level = "open"
        self.external = False

    def number(self) -> int:
        """One more than the last: the order in which things happened."""
        self.issued += 1
        return self.issued

    def new(self, kind: str) -> str:
        """An id that was never used before."""
        return f"{kind} {self.number()}"

    @contextmanager
    def client(self) -> Iterator[ChannelClient]:
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
        self.lanes[lane] = Lane(problem_type, external, frozenset(pools) or DEFAULT_POOL, priority, cap, timeout)
        return lane

    def runner(self, *, types=("standard-io@1",), external=False, tags=(), approved=True) -> Id:
        runner = self.new("runner")
        standing = "approved" if approved else "pending"
        self.runners[runner] = Runner(frozenset(types), external, frozenset(tags) or DEFAULT_POOL, standing)
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

    def fits(self, runner: Runner, lane: Lane) -> bool:
        """The conditions of runner-protocol §4 that are about the lane."""
        same = lane.problem_type in runner.types and lane.external == runner.external
        return same and bool(lane.pools & runner.pools) and not lane.paused

    def head(self, thread: Thread) -> Entry | None:
        """Started before not started; then urgent; then age; nothing while one is held (queue.md §4)."""
        if any(job.state == "running" for job in thread.jobs):
            return None
        waiting = (job for job in thread.jobs if job.state == "queued")
        return min(waiting, key=lambda job: (not job.started, not job.urgent, job.age), default=None)

    def open(self, submission: str, *, urgent: bool) -> str:
        """A new job of a submission; what it replaces gives way (queue.md §4, seed 000)."""
        sent = self.submissions[submission]
        thread = sent.thread
        attempt = sent.attempts = sent.attempts + 1
        priority = URGENT if urgent else thread.lane.priority if attempt == 1 else REJUDGE
        name = self.new("job")
        for other in thread.jobs:
            if other.state == "queued" and not other.admitted and (urgent or other.submission == submission):
                other.end("superseded")
                other.replaced_by = name
        job = Entry(name, self.issued, thread, submission, attempt, priority, urgent, thread.lane.cap)
        self.jobs[name] = job
        thread.jobs.append(job)
        sent.jobs.append(job)
        return name

    def lose(self, job: Entry, cause: str) -> None:
        """A hand-out never heard of is given back, three times a job; any other counts (seed 000)."""
        assert job.lease is not None
        if not job.lease.heard and job.refunds < FREE_REFUNDS:
            job.refunds += 1
            job.come_back_free(cause)
        else:
            job.come_back_counted(cause)
        self.give_way(job)

    def give_way(self, job: Entry) -> None:
        """Only one urgent job of a thread waits unstarted, the latest (I3)."""
        waiting = [other for other in job.thread.jobs if other.state == "queued" and other.urgent and not other.started]
        for older in sorted(waiting, key=lambda other: other.age)[:-1]:
            older.end("superseded")
            older.replaced_by = waiting[-1].id

    def lose_contact(self, job: Entry) -> None:
        """What was lost on the channel at its cap may still be completed by whom it was lost with (seed 001)."""
        assert job.lease is not None
        token = job.lease.token if job.lease.channel else None
        self.lose(job, "contact lost" if token else "lease expired")
        if job.state == "failed":
            job.lost = token

    def is_over_limit(self, job: Entry) -> bool:
        """Elapsed since `running`, whole seconds, strictly greater (channel-protocol §4)."""
        if job.lease is None or job.lease.began is None:
            return False
        return int(self.clock - job.lease.began) > job.thread.lane.timeout + GRACE

    def end_over_limit(self, job: Entry) -> bool:
        """Cancelled, or lost when its lease had lapsed before the limit was reached (channel-protocol §7); whether it was over."""
        if not self.is_over_limit(job):
            return False
        assert job.lease is not None
        assert job.lease.began is not None
        if job.lease.until <= job.lease.began + job.thread.lane.timeout + GRACE:
            self.lose_contact(job)
        else:
            job.end("cancelled", "over its limit")
        return True

    def end_lapsed(self, most: int | None = None, *, over_limit: bool = False) -> list[Entry]:
        """Every lease whose deadline has come, or so many, longest lapsed first; the jobs that were held under them.

        `over_limit`: and those of runs that go on for too long.
        """
        held = [(job.lease.until, job.lease.moved, job) for job in self.jobs.values() if job.lease and job.outcome is None]
        held.sort(key=lambda one: one[:2])
        over = [job for until, _, job in held if until <= self.clock or (over_limit and self.is_over_limit(job))][:most]
        for job in over:
            if not self.end_over_limit(job):
                self.lose_contact(job)
        return over

    def process(self, outcome: Id) -> bool:
        """The outcome becomes the result of the job that waits for it, or fails it; whether this did it."""
        left = self.outcomes.get(outcome)
        if left is None or not left.waits:
            return False
        left.waits = False
        job = left.job
        if job.id not in self.jobs or job.outcome != outcome:
            return False
        verdict = "" if self.submissions[job.submission].deleted else left.verdict or ""
        if verdict.strip() and len(verdict) <= LONGEST_VERDICT:
            self.results[left.token] = (job, left.runner, self.new("result"), verdict)
            job.end("completed")
            job.admitted = True
        else:
            finished = job.finished_at
            job.end("failed", "the output makes no result")
            job.finished_at = job.finished_at if finished is None else finished
        return True

    def process_left_over(self) -> int:
        """What was stored and not processed; how many that made results of, or failures."""
        old = [name for name, left in self.outcomes.items() if left.waits and left.arrived <= self.clock - LEFT_OVER]
        return sum(self.process(name) for name in old)
