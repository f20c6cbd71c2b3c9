"""Problems, their immutable versions, and the files everything refers to."""

from __future__ import annotations

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from judging.rows import DEFAULT_TIMEOUT_SECONDS
from runners.keys import new_id


class StoredFile(models.Model):
    """One reference to content; the bytes live once per SHA-256 (runner-protocol §9).

    `uploaded_by` is the runner that uploaded it, or None for what came through people's doors.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    sha256 = models.CharField(max_length=64, db_index=True)
    size_bytes = models.PositiveBigIntegerField()
    name = models.CharField(max_length=255)
    mime_type = models.CharField(max_length=127, default="application/octet-stream")
    uploaded_by = models.UUIDField(null=True, editable=False, db_index=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False, db_index=True)

    class Meta:
        constraints = [
            models.CheckConstraint(name="file_sha256_is_hex", condition=Q(sha256__regex=r"^[0-9a-f]{64}$")),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.size_bytes} bytes)"


class Adapter(models.TextChoices):
    """How the iterations of a run on the channel become a result (channel-protocol §5)."""

    JSON = "json", "the first JSON object with a verdict"
    EXIT_CODE = "exit-code", "accepted when every exit code is zero"


class Problem(models.Model):
    """A library problem. Its type is a word the server only compares (runner-protocol, property 3).

    `organization` is the tenant's id, None for the installation's own (queue.md §1).
    `max_deliveries` caps hand-outs; 1 means a lost job is never tried again. `timeout_seconds` bounds one run, and
    `adapter` says how the output of a run on the channel becomes a result (channel-protocol §4-5).
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.UUIDField(null=True, blank=True, editable=False, db_index=True)
    slug = models.SlugField(max_length=64)
    title = models.CharField(max_length=200)
    problem_type = models.CharField(max_length=128, default="standard-io@1")
    external = models.BooleanField(default=False)
    max_deliveries = models.PositiveSmallIntegerField(default=5, validators=[MinValueValidator(1)])
    timeout_seconds = models.PositiveIntegerField(default=DEFAULT_TIMEOUT_SECONDS, validators=[MinValueValidator(1)])
    adapter = models.CharField(max_length=16, choices=Adapter.choices, default=Adapter.JSON)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["slug"]
        constraints = [
            models.UniqueConstraint(
                name="problem_slug_once_per_organization",
                fields=["organization", "slug"],
                nulls_distinct=False,
            ),
            models.CheckConstraint(name="problem_has_deliveries", condition=Q(max_deliveries__gte=1)),
            models.CheckConstraint(name="problem_has_time", condition=Q(timeout_seconds__gte=1)),
        ]

    def __str__(self) -> str:
        return f"{self.slug}: {self.title}"


class ProblemVersion(models.Model):
    """An immutable revision of a problem with its package. `props` is compact JSON or empty."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    problem = models.ForeignKey(Problem, on_delete=models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    package = models.ForeignKey(StoredFile, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    props = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["problem", "-number"]
        permissions = [("verify_problemversion", "Can have a version judged against its own submissions")]
        constraints = [
            models.UniqueConstraint(name="version_number_once", fields=["problem", "number"]),
        ]

    def __str__(self) -> str:
        return f"{self.problem.slug} v{self.number}"
