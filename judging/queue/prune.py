"""prune: finished jobs leave the queue's tables when their time is over (queue.md §4, reclaim).

Never an open job, never results, sources or the ledger. Deliveries and their attachments go with the job; so does
the ticket, whose lifetime this is.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.db.models import Min

from judging.durable import one_transaction
from judging.hold import hold_thread
from judging.models import Job, Ticket
from judging.states import FINISHED

BATCH = 500


def prune(*, before: datetime, lanes: Iterable[UUID]) -> int:
    """Remove the jobs in these lanes that finished before a moment, oldest first; how many.

    One transaction a thread, resumable: a crash leaves each thread whole.
    """
    removed = 0
    old = Job.objects.filter(state__in=sorted(FINISHED), finished_at__lt=before)
    for lane in lanes:
        while True:
            threads = old.filter(lane=lane).values("thread").annotate(oldest=Min("finished_at")).order_by("oldest")
            batch = [row["thread"] for row in threads[:BATCH]]
            removed += sum(_prune_thread(thread, before=before) for thread in batch)
            if len(batch) < BATCH:
                break
    return removed


def _prune_thread(thread: UUID, *, before: datetime) -> int:
    with one_transaction():
        held = hold_thread(thread)
        rows = held.finished_before(before)
        for row in rows:
            held.reclaim(row, actor="system")
        held.write()
        ids = [row.id for row in rows]
        Ticket.objects.filter(job__in=ids).delete()
        Job.objects.filter(id__in=ids).delete()
    return len(rows)
