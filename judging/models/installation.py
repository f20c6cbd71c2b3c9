"""The installation's own switches: maintenance and external judging (runner-protocol §4 and §10)."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class Maintenance(models.TextChoices):
    """How far the doors are open. Draining and closed keep what runners already hold."""

    OPEN = "open", "open"
    DRAINING = "draining", "draining"
    CLOSED = "closed", "closed"


class Installation(models.Model):
    """One row, made when first changed; an absent row reads as the defaults."""

    id = models.SmallIntegerField(primary_key=True, default=1, editable=False)
    level = models.CharField(max_length=8, choices=Maintenance.choices, default=Maintenance.OPEN)
    since = models.DateTimeField(null=True, editable=False)
    reason = models.CharField(max_length=500, blank=True, default="")
    external_judging = models.BooleanField(default=False)
    last_sweep_at = models.DateTimeField(null=True, editable=False)
    last_sweep = models.CharField(max_length=200, blank=True, default="", editable=False)

    class Meta:
        permissions = [("maintain_installation", "Can switch maintenance and external judging")]
        constraints = [models.CheckConstraint(name="installation_is_one_row", condition=Q(id=1))]

    def __str__(self) -> str:
        return f"installation ({self.level})"

    @classmethod
    def read(cls) -> Installation:
        """The switches as they stand."""
        return cls.objects.filter(id=1).first() or cls(id=1)
