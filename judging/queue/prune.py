"""prune: finished jobs leave the queue's tables when their time is over (queue.md §4, reclaim).

Never an open job, never results, sources or the ledger. Deliveries, their attachments and what runs left behind go with
the job; so does the ticket, whose lifetime this is.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from uuid import UUID

from django.db.models import Min

from judging.channel import outputs
from judging.durable import one_look, one_transaction
from judging.errors import StorageUnavailable
from judging.hold import hold_thread
from judging.models import Job, Outcome, Ticket
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
            with one_look():
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
        outcomes = Outcome.objects.filter(job__in=ids)
        left = set(outcomes.values_list("problem", "job"))
        outcomes.delete()
        Job.objects.filter(id__in=ids).delete()
    for problem, job in left:
        # After the rows: a crash in between leaves a document that nobody asks for, never a row without its document.
        with suppress(StorageUnavailable):
            outputs.remove(problem, job)
    return len(rows)
