"""A small hall: one problem, one lane, runners that may judge it, and words for what happens to them."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest

from judging import queue
from judging.models import Job, Lane, Problem, ProblemVersion
from judging.queue import ClaimedJob, NewSubmission, Report
from judging.queue.submit import submit_within
from runners import keys
from runners.models import Runner

OPERATOR = "user:1"
ACCEPTED = Report(verdict="Accepted", score=100.0, max_score=100.0)
WRONG = Report(verdict="Wrong answer", score=0.0, max_score=100.0)
BROKEN = Report(infrastructure_failure=True, failure_reason="the checker crashed")


@dataclass
class Hall:
    """What a test of the queue needs made."""

    version: UUID
    lane: UUID

    def runner(self, name: str = "box", *, approved: bool = True, **fields) -> UUID:
        key = keys.new_secret().encode()[:32]
        fields = {"problem_types": ["standard-io@1"]} | fields
        row = Runner.objects.create(fingerprint=keys.fingerprint(key), public_key=key, name=name, **fields)
        if approved:
            queue.approve(row.id)
        return row.id

    def other_lane(self, **fields) -> UUID:
        problem = Lane.objects.get(id=self.lane).problem
        return Lane.objects.create(**{"problem": problem, "problem_type": "standard-io@1", "pools": ["default"]} | fields).id

    def submit(self, **fields) -> queue.Receipt:
        wanted: dict[str, Any] = {"lane": self.lane, "version": self.version, "files": ()} | fields
        return queue.submit(NewSubmission(**wanted), actor=OPERATOR)

    def submit_within(self, **fields) -> queue.Receipt:
        """Within a transaction that the test ends."""
        wanted: dict[str, Any] = {"lane": self.lane, "version": self.version, "files": ()} | fields
        return submit_within(NewSubmission(**wanted), actor=OPERATOR)

    def rejudge(self, submission: UUID, **fields) -> UUID:
        return queue.rejudge(submission, by=OPERATOR, reason="the data changed", **fields)


@pytest.fixture
def hall(transactional_db) -> Hall:
    problem = Problem.objects.create(slug="a", title="A + B")
    version = ProblemVersion.objects.create(problem=problem, number=1)
    lane = Lane.objects.create(problem=problem, problem_type="standard-io@1", pools=["default"])
    return Hall(version.id, lane.id)


@pytest.fixture
def box_1(hall) -> UUID:
    return hall.runner("box 1")


@pytest.fixture
def box_2(hall) -> UUID:
    return hall.runner("box 2")


def claimed(runner: UUID, **fields) -> ClaimedJob:
    """A job that this runner must get now."""
    job = queue.claim(runner, **fields)
    assert isinstance(job, ClaimedJob), job
    return job


def holder(job: ClaimedJob) -> UUID:
    """The runner that this job was handed to."""
    assert job.row.runner is not None
    return job.row.runner


def token_of(job: ClaimedJob) -> UUID:
    """The lease it was handed out under."""
    assert job.row.token is not None
    return job.row.token


def report(job: ClaimedJob, said: Report = ACCEPTED, *, runner: UUID | None = None) -> queue.Reported:
    return queue.report(job.row.id, said, token=job.row.token, runner=runner or holder(job))


def release(job: ClaimedJob) -> None:
    queue.release(job.row.id, token=job.row.token, runner=holder(job))


def renew(job: ClaimedJob, seconds: float | None = None) -> queue.Lease:
    return queue.renew(job.row.id, token=job.row.token, runner=holder(job), lease_seconds=seconds)


def stored(job: UUID) -> Job:
    return Job.objects.get(id=job)
