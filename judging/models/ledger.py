"""The append-only log (ledger.md §1)."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q

from judging.states import RecordType


class LedgerRecord(models.Model):
    """One accepted transition of one thread. Triggers refuse UPDATE, DELETE and TRUNCATE.

    `thread` and `job` have no foreign key: the ledger survives what it tells of. `id` is for paging only;
    the order within a thread is `n`. `type` may be a word this version does not know.
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
