"""Jobs, their deliveries, and what the deliveries brought back."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from judging.models.library import ProblemVersion, StoredFile
from judging.models.work import PRIORITIES, Lane, Submission, Thread
from judging.rows import DEFAULT_TIMEOUT_SECONDS
from judging.states import FINISHED, OPEN, JobState, Priority
from runners.keys import new_id
from runners.models import Runner

STATES = [(state.value, state.value) for state in JobState]
_OPEN = Q(state__in=sorted(OPEN))


class Job(models.Model):
    """One attempt at judging a submission. Written by `judging.ledger` alone, with its record.

    `n` is the number of the thread's record that left this row; a trigger refuses a change without one.
    `granted` is the lease's length in whole seconds. The other columns are described in `judging.rows`. What a row must
    be is the table's constraint `job_holds`: one function for all of its rules (migration 0021), each with a name.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    thread = models.ForeignKey(Thread, on_delete=models.PROTECT, related_name="jobs")
    # Every claim and every report writes each index again: keys that begin another index, or that only a deletion
    # would look up, have none of their own.
    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="jobs", db_index=False)
    lane = models.ForeignKey(Lane, on_delete=models.PROTECT, related_name="jobs", db_index=False)
    version = models.ForeignKey(ProblemVersion, on_delete=models.PROTECT, related_name="+", db_index=False)
    n = models.BigIntegerField(editable=False)
    attempt = models.IntegerField()
    priority = models.SmallIntegerField(choices=PRIORITIES)
    urgent = models.BooleanField(default=False)
    cap = models.SmallIntegerField()
    created_at = models.DateTimeField()
    state = models.CharField(max_length=10, choices=STATES, default=JobState.QUEUED)
    fence = models.IntegerField(default=0)
    deliveries = models.SmallIntegerField(default=0)
    releases = models.IntegerField(default=0)
    refunds = models.SmallIntegerField(default=0)
    token = models.UUIDField(null=True)
    runner = models.ForeignKey(
        Runner, on_delete=models.DO_NOTHING, null=True, db_constraint=False, db_index=False, related_name="held_jobs"
    )
    claimed_at = models.DateTimeField(null=True)
    lease_until = models.DateTimeField(null=True)
    granted = models.IntegerField(null=True)
    heard = models.BooleanField(default=False)
    admitted = models.BooleanField(default=False)
    outside_id = models.CharField(max_length=200, null=True)
    finished_at = models.DateTimeField(null=True)
    reason = models.TextField(null=True)
    replaced_by = models.UUIDField(null=True)
    voided_at = models.DateTimeField(null=True)
    marked = models.BooleanField(default=False)
    closed_at_seq = models.BigIntegerField(null=True)
    timeout = models.IntegerField(default=DEFAULT_TIMEOUT_SECONDS)
    channel = models.BooleanField(default=False)
    started_at = models.DateTimeField(null=True)
    outcome = models.UUIDField(null=True)
    lost = models.UUIDField(null=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        permissions = [
            ("cancel_job", "Can cancel a job"),
            ("give_back_job", "Can return a held job to the queue"),
            ("void_job", "Can void a job's result"),
        ]
        constraints = [
            # A running job has started: that one runs at most in a thread follows from this, too.
            models.UniqueConstraint(
                name="job_one_started_per_thread",
                fields=["thread"],
                condition=_OPEN & (Q(deliveries__gt=0) | Q(admitted=True)),
            ),
            models.UniqueConstraint(
                name="job_one_urgent_waits_per_thread",
                fields=["thread"],
                condition=Q(state=JobState.QUEUED, urgent=True, deliveries=0, admitted=False),
            ),
            models.UniqueConstraint(name="job_attempt_once", fields=["submission", "attempt"]),
            models.UniqueConstraint(name="job_token_once", fields=["token"], condition=Q(token__isnull=False)),
        ]
        indexes = [
            models.Index(name="job_deadline", fields=["lease_until"], condition=Q(state=JobState.RUNNING)),
            models.Index(name="job_held_by", fields=["runner"], condition=Q(state=JobState.RUNNING)),
            models.Index(name="job_open_in_thread", fields=["thread"], condition=_OPEN),
            models.Index(name="job_finished", fields=["finished_at"], condition=Q(finished_at__isnull=False)),
            models.Index(name="job_newest", fields=["-created_at", "-id"]),
            # Few among many: without it the operators' list of what was given up would read every job there is.
            models.Index(
                name="job_unjudged", fields=["state", "-created_at"], condition=Q(state__in=sorted(FINISHED - {JobState.COMPLETED}))
            ),
            # The operators' filter by class; most jobs are in the contest's, and cost nothing here.
            models.Index(name="job_unusual_class", fields=["priority", "-created_at"], condition=~Q(priority=int(Priority.CONTEST))),
            models.Index(name="job_in_lane", fields=["lane", "-created_at"]),
        ]

    def __str__(self) -> str:
        return f"{self.id} (attempt {self.attempt}, {self.state})"


class Delivery(models.Model):
    """One hand-out of a job to a runner; its id is the lease token. Kept as evidence after it ended.

    `runner` has no constraint in the database: a forgotten runner's history stays. Nor has `job`: it would cost every
    claim a look, and the audit of everything compares each delivery with the ledger. `ending` is the type of the ledger
    record that ended it.
    """

    token = models.UUIDField(primary_key=True, editable=False)
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="delivery_set", db_constraint=False, db_index=False)
    fence = models.IntegerField()
    runner = models.ForeignKey(
        Runner, on_delete=models.DO_NOTHING, null=True, db_constraint=False, db_index=False, related_name="delivery_set"
    )
    claimed_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    ending = models.CharField(max_length=16, blank=True, default="")

    class Meta:
        ordering = ["job", "fence"]
        verbose_name_plural = "deliveries"
        constraints = [
            models.UniqueConstraint(name="delivery_fence_once", fields=["job", "fence"]),
            models.UniqueConstraint(name="delivery_one_open", fields=["job"], condition=Q(ended_at__isnull=True)),
        ]
        indexes = [models.Index(name="delivery_by_runner", fields=["runner", "-claimed_at"])]

    def __str__(self) -> str:
        return f"delivery {self.fence} of {self.job_id}"


class Attachment(models.Model):
    """A file a delivery left under a role (`log`, `details`); roles are per delivery (runner-protocol §6)."""

    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="attachments")
    name = models.CharField(max_length=128)
    file = models.OneToOneField(StoredFile, on_delete=models.PROTECT, related_name="attachment")
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(name="attachment_role_once", fields=["delivery", "name"])]

    def __str__(self) -> str:
        return self.name


class RunnerAttachment(models.Model):
    """A file about the runner itself; a new one under the same name replaces it."""

    runner = models.ForeignKey(Runner, on_delete=models.CASCADE, related_name="attachments")
    name = models.CharField(max_length=128)
    file = models.OneToOneField(StoredFile, on_delete=models.PROTECT, related_name="runner_attachment")
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(name="runner_attachment_once", fields=["runner", "name"])]

    def __str__(self) -> str:
        return self.name


class Result(models.Model):
    """What one delivery reported, keyed on its lease token (seed 000); at most one a job.

    It outlives its job's row, which `prune` removes: hence no constraint, and the submission and attempt again.
    `verdict` is empty when the job was given up. `extra` and `props` are compact JSON or empty.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    token = models.UUIDField(unique=True, editable=False)
    job = models.OneToOneField(Job, on_delete=models.DO_NOTHING, db_constraint=False, related_name="result")
    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="results")
    attempt = models.PositiveIntegerField()
    runner = models.ForeignKey(Runner, on_delete=models.DO_NOTHING, null=True, db_constraint=False, related_name="results")
    verdict = models.CharField(max_length=64, blank=True, default="")
    score = models.FloatField(null=True)
    max_score = models.FloatField(null=True)
    infrastructure_failure = models.BooleanField(default=False)
    failure_reason = models.TextField(blank=True, default="")
    runner_version = models.CharField(max_length=64, blank=True, default="")
    extra = models.TextField(blank=True, default="")
    props = models.TextField(blank=True, default="")
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="result_judged_has_verdict",
                condition=Q(infrastructure_failure=False) & ~Q(verdict="")
                | Q(infrastructure_failure=True, verdict="", score__isnull=True, max_score__isnull=True),
            ),
        ]
        indexes = [models.Index(name="result_by_verdict", fields=["verdict", "-created_at"])]

    def __str__(self) -> str:
        return self.verdict or "given up"
