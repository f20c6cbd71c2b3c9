"""Many submissions judged again as one decision: what was chosen, how far it is, and whether its results count."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from judging.models.work import PRIORITIES, Submission
from runners.keys import new_id


class RejudgingState(models.TextChoices):
    """How far a rejudging is."""

    WORKING = "working", "opening attempts"
    """Attempts are being opened, in chunks, by whoever sweeps. Leads to OPEN or DONE when none is left, or to CANCELLING."""
    OPEN = "open", "kept aside"
    """Every attempt was opened; the results are kept aside. An operator applies or cancels."""
    DONE = "done", "done"
    """Every attempt was opened, and each result counts as it comes. Final."""
    APPLIED = "applied", "applied"
    """The results that were kept aside count. Final."""
    CANCELLING = "cancelling", "ending its attempts"
    """Nothing more is opened; what is open is being ended. Leads to CANCELLED."""
    CANCELLED = "cancelled", "cancelled"
    """What was opened has ended; results that were kept aside never count. Final."""


class ItemState(models.TextChoices):
    """What came of one attempt that a rejudging wants."""

    WAITING = "waiting", "to be opened"
    OPENED = "opened", "opened"
    SKIPPED = "skipped", "skipped"


class Rejudging(models.Model):
    """One decision to judge many submissions again. `by` is the ledger's name for who made it; `chosen` says how, in words.

    `organization` is that of an operator who belongs to one, None for those who do not. `aside`: results do not count
    until it is applied. `priority` is the class of its attempts where they are not urgent, None: that of rejudges.
    `repeats` is how many attempts each submission gets, one after the other.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.UUIDField(null=True, editable=False)
    by = models.CharField(max_length=100)
    reason = models.TextField()
    chosen = models.CharField(max_length=500, blank=True, default="")
    urgent = models.BooleanField(default=False)
    priority = models.PositiveSmallIntegerField(choices=PRIORITIES, null=True)
    aside = models.BooleanField(default=False)
    repeats = models.PositiveSmallIntegerField(default=1)
    state = models.CharField(max_length=10, choices=RejudgingState.choices, default=RejudgingState.WORKING)
    created_at = models.DateTimeField(db_default=Now())
    settled_at = models.DateTimeField(null=True)
    settled_by = models.CharField(max_length=100, blank=True, default="")

    class Meta:
        ordering = ["-created_at", "-id"]
        permissions = [("apply_rejudging", "Can apply the results of a rejudging")]
        indexes = [
            models.Index(name="rejudging_at_work", fields=["created_at"], condition=Q(state__in=["working", "cancelling"])),
            models.Index(name="rejudging_newest", fields=["-created_at", "-id"]),
        ]

    def __str__(self) -> str:
        return self.reason


class RejudgingItem(models.Model):
    """One attempt that a rejudging wants; `run` counts a submission's from 1. At most one each, however often it is tried.

    `note` says why it was skipped. `before` is the attempt that counted when `job` was opened; both outlive the rows of
    jobs, which are removed with time. While `aside` holds, `job` counts for nothing.
    """

    rejudging = models.ForeignKey(Rejudging, on_delete=models.CASCADE, related_name="items")
    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="rejudged", db_index=False)
    run = models.PositiveSmallIntegerField(default=1)
    state = models.CharField(max_length=7, choices=ItemState.choices, default=ItemState.WAITING)
    note = models.CharField(max_length=200, blank=True, default="")
    job = models.UUIDField(null=True)
    before = models.UUIDField(null=True)
    aside = models.BooleanField(default=False)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(name="rejudging_item_once", fields=["rejudging", "submission", "run"]),
            models.UniqueConstraint(name="rejudging_item_job_once", fields=["job"]),
            models.CheckConstraint(
                name="rejudging_item_opened_has_job",
                condition=Q(state="opened", job__isnull=False) | (~Q(state="opened") & Q(job__isnull=True)),
            ),
        ]
        indexes = [
            models.Index(name="rejudging_item_to_open", fields=["rejudging", "id"], condition=Q(state="waiting")),
            models.Index(name="rejudging_item_of", fields=["submission"]),
        ]

    def __str__(self) -> str:
        return f"run {self.run} of {self.submission_id}"
