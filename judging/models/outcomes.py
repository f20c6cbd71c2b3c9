"""What runs on the channel sent back, before and after it became a result."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from runners.keys import new_id


class OutcomeKind(models.TextChoices):
    """Which terminal message brought it."""

    COMPLETED = "completed", "completed"
    FAILED = "failed", "failed"


class Outcome(models.Model):
    """A terminal message that was taken, one of each kind a delivery (channel-protocol §4-5).

    The output document lies in the file storage; `error` is the runner's own word. `processed_at` is None until a
    completed run has become a result. Job and runner have no constraint: the queue removes the rows of both.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    token = models.UUIDField(editable=False)
    job = models.UUIDField(editable=False, db_index=True)
    runner = models.UUIDField(editable=False)
    problem = models.UUIDField(editable=False)
    kind = models.CharField(max_length=16, choices=OutcomeKind.choices)
    error = models.TextField(blank=True, default="")
    created_at = models.DateTimeField()
    processed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["created_at"]
        constraints = [models.UniqueConstraint(name="outcome_once_a_delivery", fields=["token", "kind"])]
        indexes = [models.Index(name="outcome_to_process", fields=["created_at"], condition=Q(processed_at__isnull=True))]

    def __str__(self) -> str:
        return f"{self.kind} run of {self.job}"
