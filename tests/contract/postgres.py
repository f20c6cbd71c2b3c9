"""The store that Assize ships, plugged into the contract: the verbs of `judging.queue` on the test database."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import connections, transaction

from judging import queue
from judging.errors import Refusal
from judging.models import Job as JobRow
from judging.models import Lane, Maintenance, Problem, ProblemVersion, Result, StoredFile, Thread
from judging.models import Submission as SubmissionRow
from judging.queue import ClaimedJob, NewSubmission, Nothing, Report, SourceFile
from judging.states import Priority
from runners import keys
from runners.models import Runner
from tests.contract.interface import Act, Answer, Client, Handout, Id, Job, Receipt, Refused, Submission, Swept
from tests.locks import until_waiting

OPERATOR = "user:1"
WHY = "the contract"


class PostgresStore:
    """`clock` is the movable clock of tests/conftest.py."""

    def __init__(self, clock: Any) -> None:
        self.clock = clock
        self.names = iter(range(1_000_000))
        self.versions: dict[UUID, UUID] = {}

    @contextmanager
    def client(self) -> Iterator[Client]:
        try:
            yield PostgresClient(self)
        finally:
            if threading.current_thread() is not threading.main_thread():
                connections.close_all()

    def reopen(self) -> None:
        connections.close_all()

    def forward(self, seconds: float) -> None:
        self.clock.forward(seconds=seconds)

    def now(self) -> float:
        return self.clock.now().timestamp()

    def lane(self, *, problem_type="standard-io@1", external=False, pools=("default",), priority=1, cap=5, timeout=3600) -> UUID:
        slug = f"problem-{next(self.names)}"
        own = {"problem_type": problem_type, "external": external, "max_deliveries": cap, "timeout_seconds": timeout}
        problem = Problem.objects.create(slug=slug, title=slug, **own)
        version = ProblemVersion.objects.create(problem=problem, number=1)
        lane = Lane.objects.create(problem=problem, problem_type=problem_type, external=external, pools=list(pools), priority=priority)
        self.versions[lane.id] = version.id
        return lane.id

    def runner(self, *, types=("standard-io@1",), external=False, tags=(), approved=True) -> UUID:
        key = keys.new_secret().encode()[:32]
        declared = {"problem_types": list(types), "external": external, "tags": list(tags)}
        row = Runner.objects.create(fingerprint=keys.fingerprint(key), public_key=key, name="box", **declared)
        if approved:
            queue.approve(row.id)
        return row.id

    def unknown(self) -> UUID:
        return keys.new_id()

    def in_order(self, job: Any, *acts: Act) -> list[Any]:
        """Holds the thread's lock until each act waits for it: PostgreSQL lets them pass in the order of coming."""

        def run(act: Act) -> Any:
            with self.client() as client:
                return answer_of(lambda: act(client))

        futures: list[Future[Any]] = []
        with ThreadPoolExecutor(len(acts)) as pool:
            with transaction.atomic():
                list(Thread.objects.select_for_update(no_key=True).filter(jobs=job))
                for n, act in enumerate(acts, start=1):
                    futures.append(pool.submit(run, act))
                    until_waiting(n)
            return [future.result(60) for future in futures]


def answer_of(act: Callable[[], Any]) -> Any:
    """What an act returns, or the Refused it meets."""
    try:
        return act()
    except Refused as refused:
        return refused


@contextmanager
def refusals() -> Iterator[None]:
    """The verbs' refusals in the contract's words; anything else is a fault and stays one."""
    try:
        yield
    except Refusal as refusal:
        raise Refused(refusal.code) from refusal


class PostgresClient:
    """The verbs, as thin as a door."""

    def __init__(self, store: PostgresStore) -> None:
        self.store = store

    def submit(
        self, lane, *, organization=None, author=None, scope="", key=None, thread=None,
        content="", source="", only_if_idle=False, urgent=False,
    ) -> Receipt:  # fmt: skip
        new = NewSubmission(
            lane=lane,
            version=self.store.versions[lane],
            files=(_file(source),) if source else (),
            organization=organization,
            author=author,
            props=content,
            thread_key=thread,
            key=key,
            scope=scope,
            only_if_idle=only_if_idle,
            urgent=urgent,
        )
        with refusals():
            receipt = queue.submit(new, actor=OPERATOR)
        return Receipt(receipt.submission, receipt.job, receipt.existing)

    def claim(self, runner, *, lease_seconds=None) -> Handout | None:
        with refusals():
            job = queue.claim(runner, lease_seconds=lease_seconds)
        return handed(job)

    def undo_handout(self, job, token) -> None:
        with refusals():
            queue.undo_handout(job, token=token)

    def renew(self, job, token, runner, *, lease_seconds=None) -> float:
        with refusals():
            return queue.renew(job, token=token, runner=runner, lease_seconds=lease_seconds).until.timestamp()

    def progress(self, job, token, runner, *, outside=None) -> None:
        with refusals():
            queue.progress(job, token=token, runner=runner, outside_id=outside)

    def attach(self, job, token, runner, *, name) -> None:
        file = StoredFile.objects.create(sha256="0" * 64, size_bytes=1, name=name, uploaded_by=runner)
        with refusals():
            queue.attach(job, token=token, runner=runner, file=file.id, name=name)

    def release(self, job, token, runner) -> None:
        with refusals():
            queue.release(job, token=token, runner=runner)

    def report(self, job, token, runner, *, verdict="Accepted", infrastructure=None) -> Answer:
        said = Report(
            infrastructure_failure=infrastructure is not None,
            failure_reason=infrastructure or "",
            verdict=verdict,
            score=1.0,
            max_score=1.0,
        )
        with refusals():
            answer = queue.report(job, said, token=token, runner=runner)
        return Answer(str(answer.state), answer.result, answer.duplicate)

    def rejudge(self, submission, *, urgent=False) -> UUID:
        with refusals():
            return queue.rejudge(submission, by=OPERATOR, reason=WHY, urgent=urgent)

    def cancel(self, job) -> None:
        with refusals():
            queue.cancel(job, by=OPERATOR, reason=WHY)

    def give_back(self, job) -> None:
        with refusals():
            queue.give_back(job, by=OPERATOR, reason=WHY)

    def prioritise(self, job, priority) -> None:
        with refusals():
            queue.prioritise(job, Priority(priority), by=OPERATOR, reason=WHY)

    def void(self, job) -> None:
        with refusals():
            queue.void(job, by=OPERATOR, reason=WHY)

    def delete(self, submission, *, forget_keys=False) -> bool:
        with refusals():
            return queue.delete_submission(submission, by=OPERATOR, reason=WHY, forget_keys=forget_keys)

    def delete_work_of(self, *, authors=(), lanes=()) -> int:
        with refusals():
            return queue.delete_work_of(by=OPERATOR, reason=WHY, authors=authors, lanes=lanes)

    def approve(self, runner) -> None:
        with refusals():
            queue.approve(runner)

    def revoke(self, runner) -> list[Id]:
        with refusals():
            return list(queue.revoke(runner, by=OPERATOR, reason=WHY))

    def retag(self, runner, tags) -> None:
        queue.retag(runner, tags=tags)

    def reroute(self, lane, pools) -> None:
        queue.reroute([lane], pools=pools)

    def pause(self, lane) -> None:
        queue.pause(lane, reason=WHY)

    def resume(self, lane) -> None:
        queue.resume(lane)

    def maintenance(self, level) -> None:
        queue.switch_maintenance(Maintenance(level), reason=WHY)

    def external_judging(self, *, on) -> None:
        queue.switch_external(on)

    def sweep(self) -> Swept:
        swept = queue.sweep()
        assert swept.bad == 0, swept
        return Swept(swept.lapsed, swept.returned, swept.given_up, swept.orphaned, swept.processed)

    def prune(self, lane, *, seconds) -> int:
        with refusals():
            return queue.prune(before=self.store.clock.now() - timedelta(seconds=seconds), lanes=[lane])

    def job(self, job) -> Job:
        row = JobRow.objects.filter(id=job).first()
        if row is None:
            raise Refused("not_found")
        verdict = Result.objects.filter(job=job).values_list("verdict", flat=True).first()
        return snapshot(row, verdict)

    def submission(self, submission) -> Submission:
        row = SubmissionRow.objects.filter(id=submission).first()
        if row is None:
            raise Refused("not_found")
        return Submission(row.deleted_at is not None, tuple(row.jobs.order_by("attempt").values_list("id", flat=True)))


def handed(job: ClaimedJob | Nothing) -> Handout | None:
    """What a claim answered, in the contract's words."""
    if not isinstance(job, ClaimedJob):
        return None
    row = job.row
    assert row.token is not None
    assert row.runner is not None
    assert row.granted is not None
    assert row.lease_until is not None
    until = row.lease_until.timestamp()
    return Handout(row.id, row.submission, row.attempt, row.token, row.runner, row.granted, until, job.outside_id)


def snapshot(row: JobRow, verdict: str | None) -> Job:
    """A stored job in the contract's words."""
    return Job(
        id=row.id,
        submission=row.submission_id,
        attempt=row.attempt,
        state=row.state,
        priority=row.priority,
        urgent=row.urgent,
        deliveries=row.deliveries,
        releases=row.releases,
        refunds=row.refunds,
        fence=row.fence,
        token=row.token,
        runner=row.runner_id,
        until=row.lease_until.timestamp() if row.lease_until else None,
        heard=row.heard,
        admitted=row.admitted,
        outside=row.outside_id,
        finished=row.finished_at is not None,
        reason=row.reason or "",
        replaced_by=row.replaced_by,
        voided=row.voided_at is not None,
        marked=row.marked,
        verdict=verdict,
    )


def _file(source: str) -> SourceFile:
    sha256 = hashlib.sha256(source.encode()).hexdigest()
    stored = StoredFile.objects.create(sha256=sha256, size_bytes=len(source), name="main.py")
    return SourceFile("source", "main.py", stored.id, sha256)
