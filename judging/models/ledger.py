"""The append-only log (ledger.md §1)."""

from __future__ import annotations

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from judging.states import RecordType


class LedgerRecord(models.Model):
    """One accepted transition of one thread. Triggers refuse UPDATE, DELETE and TRUNCATE.

    `thread` and `job` have no foreign key: the ledger survives what it tells of. `id` is for paging only;
    the order within a thread is `n`. `type` may be a word this version does not know. The table also has `xid`, the
    transaction that wrote the record, for `judging.feed` alone; no hash covers it.
    """

    id = models.BigAutoField(primary_key=True)
    thread = models.UUIDField()
    n = models.BigIntegerField()
    at = models.DateTimeField()
    v = models.SmallIntegerField()
    type = models.CharField(max_length=16, choices=[(kind.value, kind.value) for kind in RecordType])
    job = models.UUIDField()
    actor = models.CharField(max_length=80)
    data: models.JSONField[Any, Any] = models.JSONField(default=dict)
    after = models.BinaryField(max_length=32)
    hash = models.BinaryField(max_length=32)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(name="ledger_number_once", fields=["thread", "n"]),
            models.CheckConstraint(name="ledger_number_from_one", condition=Q(n__gte=1)),
        ]
        indexes = [models.Index(name="ledger_of_job", fields=["job", "n"])]

    def __str__(self) -> str:
        return f"{self.thread} #{self.n} {self.type}"


class ThreadSeal(models.Model):
    """What a thread remembered of the ledger when its row was removed; a trigger leaves it, and refuses changes."""

    thread = models.UUIDField(primary_key=True)
    n = models.BigIntegerField()
    tail = models.BinaryField(max_length=32)

    def __str__(self) -> str:
        return f"{self.thread} sealed at #{self.n}"


class FeedEpoch(models.Model):
    """A stretch of time in which transaction numbers of this database only grow (ledger.md §5).

    `server` is the database cluster and its timeline; another one means a restore. Records below `first_id` were
    settled before the epoch began.
    """

    number = models.PositiveIntegerField(primary_key=True)
    server = models.CharField(max_length=64)
    first_id = models.BigIntegerField()

    def __str__(self) -> str:
        return f"epoch {self.number}"


class AuditScope(models.TextChoices):
    """What an audit looked at."""

    ALL = "all", "everything"
    LANES = "lanes", "some lanes"
    THREADS = "threads", "some threads"
    RECENT = "recent", "threads with news since the last audit"


class AuditResult(models.IntegerChoices):
    """What came of it, as the exit code of `manage.py audit` (ledger.md §4)."""

    EQUAL = 0, "equal"
    DIVERGED = 1, "diverged"
    UNKNOWN = 3, "equal, but records of an unknown kind were skipped"


class Audit(models.Model):
    """One audit that ran to its end. `at` and `snapshot` are the moment it saw; `server` as in FeedEpoch."""

    at = models.DateTimeField()
    server = models.CharField(max_length=64)
    snapshot = models.TextField()
    scope = models.CharField(max_length=8, choices=AuditScope.choices)
    lanes = ArrayField(models.UUIDField(), default=list)
    result = models.SmallIntegerField(choices=AuditResult.choices)
    records = models.BigIntegerField()
    threads = models.BigIntegerField()
    skipped = models.BigIntegerField()
    diverged = models.BigIntegerField()
    words = models.TextField()

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"audit of {self.at:%Y-%m-%d %H:%M}: {self.get_result_display()}"
