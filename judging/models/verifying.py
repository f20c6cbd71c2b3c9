"""A problem version judged against the submissions its package brings along: what was promised, and what was found."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from judging.models.library import ProblemVersion, StoredFile
from judging.models.work import Lane, Submission
from runners.keys import new_id


class VerificationState(models.TextChoices):
    """How far a verification is."""

    WORKING = "working", "being judged"
    """Its submissions are sent in, judged and compared, by whoever sweeps. Leads to DONE when none is left, or to CANCELLING."""
    DONE = "done", "compared"
    """Each submission was compared with its promise, or could not be. Final."""
    CANCELLING = "cancelling", "ending its jobs"
    """Nothing more is sent in; what is open is being ended. Leads to CANCELLED."""
    CANCELLED = "cancelled", "cancelled"
    """What was open has ended. Final."""


class PromiseState(models.TextChoices):
    """What came of one of the jury's submissions, and of the promise about it."""

    WAITING = "waiting", "to be sent in"
    """It is kept and nobody has sent it in. A sweep leads to SENT, the verification's end to SKIPPED."""
    SENT = "sent", "sent in"
    """It has a job, which is judged as any other. A sweep that finds it over leads to KEPT, BROKEN or ENDED."""
    KEPT = "kept", "as promised"
    """It was judged to be what was promised. Final."""
    BROKEN = "broken", "not as promised"
    """It was judged to be something else, or its job was given up. Final."""
    ENDED = "ended", "ended without a verdict"
    """Its job was cancelled, or what its runner left was lost: that says nothing of the promise. Final."""
    SKIPPED = "skipped", "not judged"
    """Nothing can start it, or the verification was cancelled before it was sent in. Final."""


class Verification(models.Model):
    """One decision to have a version judged against its own submissions, on a lane of its own: no assignment has it.

    `by` is the ledger's name for who made it.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    version = models.ForeignKey(ProblemVersion, on_delete=models.PROTECT, related_name="verifications")
    lane = models.OneToOneField(Lane, on_delete=models.PROTECT, related_name="verification")
    by = models.CharField(max_length=100)
    reason = models.TextField()
    state = models.CharField(max_length=10, choices=VerificationState.choices, default=VerificationState.WORKING)
    created_at = models.DateTimeField(db_default=Now())
    settled_at = models.DateTimeField(null=True)
    settled_by = models.CharField(max_length=100, blank=True, default="")

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                name="verification_one_at_a_time", fields=["version"], condition=Q(state__in=["working", "cancelling"])
            ),
        ]

    def __str__(self) -> str:
        return f"verification of {self.version}"


class VerificationItem(models.Model):
    """One of the package's submissions. `promise` is JSON: see judging.verification.promise.

    `language` is empty when nothing tells it. `found` is the verdict, `note` what breaks the promise or keeps it from
    being judged; both outlive the rows of jobs.
    """

    verification = models.ForeignKey(Verification, on_delete=models.CASCADE, related_name="items")
    name = models.CharField(max_length=300)
    language = models.CharField(max_length=64, blank=True, default="")
    promise = models.TextField()
    state = models.CharField(max_length=7, choices=PromiseState.choices, default=PromiseState.WAITING)
    submission = models.OneToOneField(Submission, on_delete=models.CASCADE, null=True, related_name="verified")
    job = models.UUIDField(null=True, unique=True)
    found = models.CharField(max_length=64, blank=True, default="")
    note = models.TextField(blank=True, default="")

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(name="verification_item_once", fields=["verification", "name"]),
            models.CheckConstraint(
                name="verification_item_sent_has_job",
                condition=Q(state__in=["waiting", "skipped"], job__isnull=True, submission__isnull=True)
                | (~Q(state__in=["waiting", "skipped"]) & Q(job__isnull=False, submission__isnull=False)),
            ),
        ]

    def __str__(self) -> str:
        return self.name


class VerificationFile(models.Model):
    """One file of a submission that is to be sent in, under its role there; `file_name` may hold folders."""

    item = models.ForeignKey(VerificationItem, on_delete=models.CASCADE, related_name="files")
    position = models.PositiveSmallIntegerField()
    role = models.CharField(max_length=128)
    file_name = models.CharField(max_length=255)
    file = models.ForeignKey(StoredFile, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering = ["item", "position"]
        constraints = [models.UniqueConstraint(name="verification_file_once", fields=["item", "role"])]

    def __str__(self) -> str:
        return self.file_name
