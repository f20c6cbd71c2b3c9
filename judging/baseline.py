"""baseline: jobs that were there before the ledger enter it as they stand (ledger.md §1).

For migrations and imports that bring job rows without a history. They leave `n` at 0, which no record has.
"""

from __future__ import annotations

from uuid import UUID

from django.db.models import Exists, OuterRef

from judging.durable import one_transaction
from judging.hold import hold_job
from judging.models import Job, LedgerRecord


def baseline(*, actor: str = "system") -> int:
    """Write a `baseline` record for every job that the ledger does not tell of; how many.

    One transaction a job, resumable: from its record on a job is proved like any other, and nothing before it is.
    """
    told = LedgerRecord.objects.filter(job=OuterRef("id"))
    untold = Job.objects.filter(~Exists(told)).order_by("thread", "created_at", "id")
    return sum(_stand(job, actor=actor) for job in list(untold.values_list("id", flat=True)))


def _stand(job: UUID, *, actor: str) -> bool:
    with one_transaction():
        held = hold_job(job)
        # Asked again under the lock: two may be doing this at once.
        if LedgerRecord.objects.filter(job=job).exists():
            return False
        held.stand(held.jobs[job], actor=actor)
        held.write()
    return True
