"""What waits to be judged and how it is routed: lanes, threads, submissions, tickets."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from judging.models.library import Problem, ProblemVersion, StoredFile
from judging.states import Priority
from runners.keys import new_id

PRIORITIES = [(member.value, member.name.lower()) for member in Priority]


class Lane(models.Model):
    """How a stream of work is routed (architecture §2). `pools` are the effective ones, never empty.

    `config` is compact JSON or empty, passed to runners verbatim. `version` pins what rejudges judge by; None: the
    newest. `active` says claimable work may be here: set with the work, cleared by the sweep; it may be true in vain,
    never false in vain.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    problem = models.ForeignKey(Problem, on_delete=models.PROTECT, related_name="lanes")
    problem_type = models.CharField(max_length=128)
    external = models.BooleanField(default=False)
    pools = ArrayField(models.CharField(max_length=64))
    config = models.TextField(blank=True, default="")
    version = models.ForeignKey(ProblemVersion, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    priority = models.PositiveSmallIntegerField(choices=PRIORITIES, default=Priority.CONTEST)
    paused_at = models.DateTimeField(null=True, blank=True, editable=False)
    paused_reason = models.CharField(max_length=500, blank=True, default="", editable=False)
    active = models.BooleanField(default=False, editable=False)

    class Meta:
        permissions = [("pause_lane", "Can pause and resume a lane")]
        constraints = [
            models.CheckConstraint(name="lane_has_pools", condition=Q(pools__len__gt=0)),
        ]
        indexes = [models.Index(name="lane_active", fields=["problem_type"], condition=Q(active=True))]

    def __str__(self) -> str:
        return f"lane of {self.problem_type} in {', '.join(self.pools)}"


class Thread(models.Model):
    """What must be judged one at a time, and the row every verb locks first (queue.md §1 and §3).

    `n`, `tail` and `last_at` are the ledger's: the last record's number, hash and time. The head columns
    follow from the open jobs and are kept by the one writer; a claim reads nothing else to choose. What a row must be is
    the table's constraint `thread_holds` (migration 0021).
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.UUIDField(null=True, editable=False)
    key = models.CharField(max_length=200, editable=False)
    lane = models.ForeignKey(Lane, on_delete=models.PROTECT, related_name="threads")
    n = models.BigIntegerField(default=0, editable=False)
    tail = models.BinaryField(default=b"", editable=False)
    last_at = models.DateTimeField(null=True, editable=False)
    head = models.UUIDField(null=True, editable=False)
    head_priority = models.SmallIntegerField(null=True, editable=False)
    head_created_at = models.DateTimeField(null=True, editable=False)
    running = models.UUIDField(null=True, editable=False)
    claimable = models.BooleanField(default=False, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(name="thread_key_once_per_organization", fields=["organization", "key"], nulls_distinct=False),
        ]
        indexes = [
            models.Index(
                name="thread_claim_order",
                fields=["head_priority", "head_created_at", "head"],
                condition=Q(claimable=True),
            ),
            models.Index(
                name="thread_lane_order",
                fields=["lane", "head_priority", "head_created_at", "head"],
                condition=Q(claimable=True),
            ),
        ]

    def __str__(self) -> str:
        return self.key


class Submission(models.Model):
    """What a participant sent. `author` is the participant's id, None when it came from the jury.

    `props` is compact JSON or empty. `attempts` is the number of the last one, whose row may be pruned by now.
    An excluded one is judged as any other and does not count, until it is counted again.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    thread = models.ForeignKey(Thread, on_delete=models.PROTECT, related_name="submissions")
    lane = models.ForeignKey(Lane, on_delete=models.PROTECT, related_name="submissions")
    version = models.ForeignKey(ProblemVersion, on_delete=models.PROTECT, related_name="submissions")
    organization = models.UUIDField(null=True, editable=False)
    author = models.UUIDField(null=True, editable=False)
    props = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    attempts = models.PositiveIntegerField(default=0, editable=False)
    deleted_at = models.DateTimeField(null=True, editable=False)
    excluded_at = models.DateTimeField(null=True, editable=False)
    excluded_reason = models.TextField(blank=True, default="", db_default="", editable=False)

    class Meta:
        ordering = ["-created_at"]
        permissions = [
            ("rejudge_submission", "Can rejudge a submission"),
            ("exclude_submission", "Can exclude a submission and count it again"),
        ]
        indexes = [
            models.Index(name="submission_of_author", fields=["author", "-created_at"]),
            models.Index(name="submission_in_lane", fields=["lane", "-created_at"]),
            models.Index(name="submission_newest", fields=["-created_at"]),
        ]

    def __str__(self) -> str:
        return str(self.id)


class SubmissionFile(models.Model):
    """One file of a submission under its role; `source` comes first (runner-protocol §4)."""

    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="files")
    position = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=128)
    file_name = models.CharField(max_length=255)
    file = models.ForeignKey(StoredFile, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering = ["submission", "position"]
        constraints = [
            models.UniqueConstraint(name="submission_role_once", fields=["submission", "name"]),
        ]

    def __str__(self) -> str:
        return self.file_name


class Ticket(models.Model):
    """The receipt of a job-opening request under an idempotency key (I4).

    `scope` keeps authors apart; `content` is the SHA-256 of what was asked, so that another content is refused.
    """

    organization = models.UUIDField(null=True, editable=False)
    scope = models.CharField(max_length=100, editable=False)
    key = models.CharField(max_length=200, editable=False)
    content = models.CharField(max_length=64, editable=False)
    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="+")
    job = models.UUIDField(editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(name="ticket_key_once", fields=["organization", "scope", "key"], nulls_distinct=False),
            models.CheckConstraint(name="ticket_key_not_blank", condition=~Q(key="")),
        ]

    def __str__(self) -> str:
        return self.key
