"""One scene for each verb: what stands before, and the call that is killed. Each builds its own world from nothing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from judging import queue
from judging.models import Job, Lane, Maintenance, Problem, ProblemVersion, StoredFile
from judging.queue import ClaimedJob, Report, SourceFile
from judging.queue.process import process
from judging.queue.report import check_lease
from judging.states import Priority
from runners import enrol
from tests.queue.conftest import ACCEPTED, BROKEN, OPERATOR, Hall, claimed, release, renew, report

WHY = "the kill tests"
OUTPUT = b'{"results": [{"exit_code": 0, "stdout": "{\\"verdict\\": \\"Accepted\\"}"}]}'
Call = Callable[[], Any]


class Scene(Hall):
    """The hall of tests/queue, built anew, with one runner and the clock."""

    def __init__(self, clock: Any, *, cap: int = 5) -> None:
        problem = Problem.objects.create(slug="a", title="A + B", max_deliveries=cap)
        version = ProblemVersion.objects.create(problem=problem, number=1)
        lane = Lane.objects.create(problem=problem, problem_type="standard-io@1", pools=["default"])
        super().__init__(version.id, lane.id)
        self.clock = clock
        self.box = self.runner("box 1")

    def held(self, **fields: Any) -> ClaimedJob:
        """A job that the box holds."""
        self.submit(**fields)
        return claimed(self.box)

    def upload(self) -> UUID:
        return StoredFile.objects.create(sha256="0" * 64, size_bytes=1, name="log", uploaded_by=self.box).id

    def submit_call(self) -> Call:
        source = StoredFile.objects.create(sha256="1" * 64, size_bytes=1, name="main.py")
        files = (SourceFile("source", "main.py", source.id, source.sha256),)
        return lambda: self.submit(key="k", files=files)

    def submit_again_call(self) -> Call:
        self.submit(key="k")
        return lambda: self.submit(key="k")

    def submit_urgent_call(self) -> Call:
        for _ in range(2):
            self.submit(thread_key="t")
        return lambda: self.submit(thread_key="t", key="k", urgent=True)

    def rejudge_call(self) -> Call:
        receipt = self.submit()
        return lambda: self.rejudge(receipt.submission)

    def claim_call(self) -> Call:
        self.submit()
        return lambda: queue.claim(self.box)

    def claim_lapsed_call(self) -> Call:
        self.held()
        self.clock.forward(seconds=601)
        return lambda: queue.claim(self.box)

    def claim_used_up_call(self) -> Call:
        Problem.objects.update(max_deliveries=1)
        job = self.held()
        self.submit()
        queue.give_back(job.row.id, by=OPERATOR, reason=WHY)
        return lambda: queue.claim(self.box)

    def undo_call(self) -> Call:
        job = self.held()
        token = job.row.token
        assert token is not None
        return lambda: queue.undo_handout(job.row.id, token=token)

    def renew_call(self) -> Call:
        job = self.held()
        return lambda: renew(job, 900)

    def renew_stale_call(self) -> Call:
        job = self.held()
        release(job)
        return lambda: renew(job, 900)

    def progress_call(self) -> Call:
        job = self.held()
        return lambda: queue.progress(job.row.id, token=job.row.token, runner=self.box, outside_id="outside-1")

    def attach_call(self) -> Call:
        job, file = self.held(), self.upload()
        return lambda: queue.attach(job.row.id, token=job.row.token, runner=self.box, file=file, name="log")

    def attach_to_runner_call(self) -> Call:
        file = self.upload()
        return lambda: queue.attach_to_runner(self.box, file=file, name="log")

    def release_call(self) -> Call:
        job = self.held()
        return lambda: release(job)

    def report_call(self) -> Call:
        job = self.held()
        said = Report(verdict="Accepted", score=1.0, max_score=1.0, files=(("log", self.upload()),))
        return lambda: report(job, said)

    def report_broken_call(self) -> Call:
        job = self.held()
        return lambda: report(job, BROKEN)

    def report_last_call(self) -> Call:
        Problem.objects.update(max_deliveries=1)
        job = self.held()
        return lambda: report(job, BROKEN)

    def report_again_call(self) -> Call:
        job = self.held()
        report(job, ACCEPTED)
        return lambda: report(job, ACCEPTED)

    def check_lease_call(self) -> Call:
        job = self.held()
        return lambda: check_lease(job.row.id, token=job.row.token, runner=self.box)

    def cancel_call(self) -> Call:
        job = self.held()
        return lambda: queue.cancel(job.row.id, by=OPERATOR, reason=WHY)

    def give_back_call(self) -> Call:
        job = self.held()
        return lambda: queue.give_back(job.row.id, by=OPERATOR, reason=WHY)

    def prioritise_call(self) -> Call:
        receipt = self.submit()
        return lambda: queue.prioritise(receipt.job, Priority.JURY, by=OPERATOR, reason=WHY)

    def void_call(self) -> Call:
        job = self.held()
        report(job)
        return lambda: queue.void(job.row.id, by=OPERATOR, reason=WHY)

    def delete_call(self) -> Call:
        receipt = self.submit(key="k")
        claimed(self.box)
        return lambda: queue.delete_submission(receipt.submission, by=OPERATOR, reason=WHY, forget_keys=True)

    def delete_widely_call(self) -> Call:
        for _ in range(2):
            self.submit()
        return lambda: queue.delete_work_of(lanes=[self.lane], by=OPERATOR, reason=WHY)

    def approve_call(self) -> Call:
        pending = self.runner("box 2", approved=False)
        return lambda: queue.approve(pending)

    def revoke_call(self) -> Call:
        for _ in range(2):
            self.held()
        return lambda: queue.revoke(self.box, by=OPERATOR, reason=WHY)

    def retag_call(self) -> Call:
        return lambda: queue.retag(self.box, tags=["finals"])

    def forget_call(self) -> Call:
        queue.revoke(self.box, by=OPERATOR, reason=WHY)
        return lambda: queue.forget(self.box)

    def reroute_call(self) -> Call:
        return lambda: queue.reroute([self.lane], pools=["finals"])

    def pause_call(self) -> Call:
        return lambda: queue.pause(self.lane, reason=WHY)

    def resume_call(self) -> Call:
        queue.pause(self.lane, reason=WHY)
        return lambda: queue.resume(self.lane)

    def switch_maintenance_call(self) -> Call:
        return lambda: queue.switch_maintenance(Maintenance.DRAINING, reason=WHY)

    def switch_external_call(self) -> Call:
        return lambda: queue.switch_external(True)

    def on_channel(self) -> tuple[UUID, UUID]:
        """A job that the box holds on the channel, and its token."""
        self.submit()
        job = queue.claim_on_channel(self.box)
        assert isinstance(job, ClaimedJob)
        assert job.row.token is not None
        return job.row.id, job.row.token

    def start_call(self) -> Call:
        job, token = self.on_channel()
        return lambda: queue.start(job, token=token)

    def beat_call(self) -> Call:
        job, token = self.on_channel()
        queue.start(job, token=token)
        self.clock.forward(seconds=80)
        return lambda: queue.beat(job, token=token)

    def finish_call(self) -> Call:
        job, token = self.on_channel()
        return lambda: queue.finish(job, runner=self.box, token=token, output=OUTPUT)

    def finish_later_call(self) -> Call:
        job, _ = self.on_channel()
        return lambda: queue.finish(job, runner=self.box, token=None, output=OUTPUT)

    def fail_call(self) -> Call:
        job, token = self.on_channel()
        return lambda: queue.fail(job, runner=self.box, token=token, output=OUTPUT, error="no disk")

    def abandon_call(self) -> Call:
        job, token = self.on_channel()
        return lambda: queue.abandon(job, runner=self.box, token=token)

    def lose_call(self) -> Call:
        job, token = self.on_channel()
        self.clock.forward(seconds=95)
        return lambda: queue.lose(job, token=token)

    def process_call(self) -> Call:
        job, token = self.on_channel()
        outcome = queue.finish(job, runner=self.box, token=token, output=OUTPUT)
        assert outcome is not None
        return lambda: process(outcome)

    def replace_channel_key_call(self) -> Call:
        queue.replace_channel_key(self.box, by=OPERATOR)
        self.on_channel()
        return lambda: queue.replace_channel_key(self.box, by=OPERATOR)

    def sweep_call(self) -> Call:
        """Two lapsed leases, one job that a revocation left behind, a lane to put to rest, and a drain to end."""
        for _ in range(2):
            self.held()
        self.clock.forward(seconds=300)
        gone = self.runner("box 2")
        self.submit()
        claimed(gone)
        with transaction.atomic():
            enrol.revoke(gone, reason=WHY)
        self.clock.forward(seconds=400)
        return queue.sweep

    def sweep_if_due_call(self) -> Call:
        self.held()
        self.clock.forward(seconds=601)
        return lambda: queue.sweep_if_due(timedelta(seconds=5))

    def prune_call(self) -> Call:
        for _ in range(2):
            report(self.held(key=f"k{Job.objects.count()}"))
        self.clock.forward(days=31)
        now = self.clock.now()
        return lambda: queue.prune(before=now, lanes=[self.lane])


SCENES = [name.removesuffix("_call") for name in vars(Scene) if name.endswith("_call")]
LOOKS = {
    "records": "SELECT type FROM judging_ledgerrecord",
    "jobs": "SELECT state, deliveries, fence, releases, refunds, heard, admitted, priority, marked, attempt, voided_at IS NULL"
    " FROM judging_job",
    "submissions": "SELECT attempts, deleted_at IS NULL FROM judging_submission",
    "threads": "SELECT n, claimable FROM judging_thread",
    "runners": "SELECT name, state, jobs_done, tags FROM runners_runner",
    "lanes": "SELECT pools, paused_at IS NULL, active FROM judging_lane",
    "installation": "SELECT level, external_judging, last_sweep_at IS NULL FROM judging_installation",
    "deliveries": "SELECT fence, ending FROM judging_delivery",
    "results": "SELECT verdict, infrastructure_failure FROM judging_result",
    "files": "SELECT name FROM judging_submissionfile",
    "attachments": "SELECT name FROM judging_attachment UNION ALL SELECT name FROM judging_runnerattachment",
    "tickets": "SELECT key FROM judging_ticket",
    "outcomes": "SELECT kind, processed_at IS NULL FROM judging_outcome",
}
_STANDS = "SELECT " + ", ".join(f"(SELECT array_agg(l::text ORDER BY l::text) FROM ({look}) l) AS {name}" for name, look in LOOKS.items())


def stands(by: BaseDatabaseWrapper) -> dict[str, list[str] | None]:
    """Everything a verb may leave behind, without the ids and moments that differ from one run to the next."""
    with by.cursor() as cursor:
        cursor.execute(_STANDS)
        return dict(zip(LOOKS, cursor.fetchone(), strict=True))


def idle() -> bool:
    """Whether no other session of this database has a transaction open."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND state LIKE 'idle in transaction%'"
        )
        return bool(cursor.fetchone()[0] == 0)
