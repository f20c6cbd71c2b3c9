"""Work for a benchmark: thousands of jobs by COPY, with the ledger that explains them.

The rows come out of the same pure rules as the verbs' (judging.rows), so that an audit after a load test proves
something.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from judging.bench.loaded import Library, Loaded, copy
from judging.bench.scratch import Connection
from judging.models import Lane, Problem, ProblemVersion, StoredFile
from judging.records import documents_digest
from judging.states import Priority, RecordType
from runners import keys
from runners.keys import new_id
from runners.models import Runner, RunnerState

TYPE = "bench@1"
FOREIGN = "foreign@1"
TOKEN = """
INSERT INTO runners_bearertoken (digest, runner_id, created_at, expires_at) VALUES (%s, %s, now(), now() + interval '1 day')
"""
_SOURCE = hashlib.sha256(b"print(input())\n").hexdigest()


@dataclass(frozen=True, slots=True)
class Machine:
    """An approved runner and its bearer token."""

    id: UUID
    token: str


def library(*, lanes: int, package_bytes: int = 1 << 20) -> Library:
    """One problem with a package, and so many lanes in the default pool."""
    problem = Problem.objects.create(slug=f"bench-{uuid4().hex[:8]}", title="Bench", problem_type=TYPE)
    package = StoredFile.objects.create(sha256="0" * 64, size_bytes=package_bytes, name="package.zip")
    version = ProblemVersion.objects.create(problem=problem, number=1, package=package, props='{"time":1}')
    source = StoredFile.objects.create(sha256=_SOURCE, size_bytes=15, name="main.py")
    config = '{"type":"bench@1","languages":["python3"],"limits":{"timeMs":1000}}'
    rows = [Lane(problem=problem, problem_type=TYPE, pools=["default"], config=config, active=True) for _ in range(lanes)]
    return Library(version.id, source.id, [lane.id for lane in Lane.objects.bulk_create(rows)])


def machines(count: int, *, tags: Sequence[str] = ()) -> list[Machine]:
    """So many approved runners with live tokens."""
    made = [Machine(new_id(), keys.new_secret()) for _ in range(count)]
    Runner.objects.bulk_create(
        Runner(
            id=one.id, fingerprint=hashlib.sha256(one.token.encode()).hexdigest(), public_key=bytes(32), name=f"bench-{place}",
            problem_types=[TYPE], tags=list(tags), state=RunnerState.APPROVED,
        )
        for place, one in enumerate(made)
    )  # fmt: skip
    return made


def give_tokens(straight: Connection, to: Iterable[Machine]) -> None:
    """Make the tokens good for a day."""
    with straight.cursor() as cursor:
        cursor.executemany(TOKEN, [(keys.digest(one.token), one.id) for one in to])


def queued(straight: Connection, into: Library, count: int, *, lane_of: Callable[[int], UUID], begin: datetime, siblings: int = 0) -> None:
    """So many threads, a millisecond apart from `begin`, a submission waiting in each and so many siblings behind it.

    `lane_of` says where each waits.
    """

    def threads() -> Iterator[Loaded]:
        for place in range(count):
            thread = _waiting(into, lane_of(place), begin + timedelta(milliseconds=place))
            for _ in range(siblings):
                _submit(thread, into, thread.records[-1].at)
            yield thread

    copy(straight, into, threads())


def held(straight: Connection, into: Library, count: int, *, by: UUID, begin: datetime, granted: int = 60, siblings: int = 0) -> None:
    """So many running jobs, leased at `begin` for `granted` seconds, each with `siblings` more waiting in its thread."""

    def threads() -> Iterator[Loaded]:
        for place in range(count):
            thread = _waiting(into, into.lanes[place % len(into.lanes)], begin)
            (job,) = thread.jobs
            leased = {"token": str(uuid4()), "runner": str(by), "granted": granted}
            thread.move(RecordType.LEASED, job, begin, f"runner:{by}", leased)
            for _ in range(siblings):
                _submit(thread, into, begin)
            yield thread

    copy(straight, into, threads())


def judged(straight: Connection, into: Library, count: int, *, by: UUID, begin: datetime, tries: int = 1, renewals: int = 0) -> None:
    """So many threads of `tries` judged submissions each, which leave 3 records and one a renewal."""

    def threads() -> Iterator[Loaded]:
        for place in range(count):
            thread, at = Loaded(new_id(), into.lanes[place % len(into.lanes)]), begin
            for _ in range(tries):
                _submit(thread, into, at)
                at = _judge(thread, at, by, renewals)
            yield thread

    copy(straight, into, threads())


def _judge(thread: Loaded, at: datetime, by: UUID, renewals: int) -> datetime:
    """Hand the thread's newest job out, renew it every quarter of its lease, report it; when it was reported."""
    job, token, actor = list(thread.jobs)[-1], uuid4(), f"runner:{by}"
    claimed = at + timedelta(seconds=1)
    thread.move(RecordType.LEASED, job, claimed, actor, {"token": str(token), "runner": str(by), "granted": 60})
    for number in range(renewals):
        thread.move(RecordType.RENEWED, job, claimed + (number + 1) * timedelta(seconds=15), actor, {"token": str(token), "seconds": 60})
    ended, row = claimed + (renewals + 1) * timedelta(seconds=15), thread.jobs[job]
    result: dict[str, Any] = {"id": new_id(), "token": token, "verdict": "Accepted", "score": 1.0, "max_score": 1.0, **_DOCUMENTS}
    said = {"token": str(token), "judged": True, "result": str(result["id"]), "verdict": "Accepted", "score": "1.0", "max_score": "1.0"}
    thread.move(RecordType.REPORTED, job, ended, actor, said | {"documents": documents_digest(**_DOCUMENTS), "reason": ""})
    delivery = {"token": token, "job_id": job, "fence": 1, "runner_id": by, "claimed_at": claimed, "ended_at": ended, "ending": "reported"}
    whose = {"job_id": job, "submission_id": row.submission, "attempt": row.attempt, "runner_id": by}
    thread.ended.append(delivery)
    thread.results.append(result | whose | {"infrastructure_failure": False, "created_at": ended})
    return ended


_DOCUMENTS = {"failure_reason": "", "runner_version": "1.0", "extra": '{"tests":[{"no":1,"status":"Accepted","timeMs":12}]}', "props": ""}


def _waiting(into: Library, lane: UUID, at: datetime) -> Loaded:
    thread = Loaded(new_id(), lane)
    _submit(thread, into, at)
    return thread


def _submit(thread: Loaded, into: Library, at: datetime) -> None:
    names = {"thread": thread.id, "submission": new_id(), "lane": thread.lane, "version": into.version}
    numbers = {"attempt": 1, "priority": int(Priority.CONTEST), "urgent": False, "cap": 5, "timeout": 3600, "reason": None}
    thread.move(RecordType.SUBMITTED, new_id(), at, "user:1", {name: str(id_) for name, id_ in names.items()} | numbers)
