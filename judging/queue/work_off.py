"""work_off: the attempts of live rejudgings are opened and ended, a transaction each, by whoever sweeps.

An item and its job change in one transaction under the thread's lock, so that any number of workers may die anywhere:
each item is opened once.
"""

from __future__ import annotations

from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from judging.durable import one_look, one_transaction
from judging.hold import Hold, hold_thread
from judging.models import ItemState, Job, Rejudging, RejudgingItem, RejudgingState, Result, Submission
from judging.queue.opening import open_job
from judging.queue.piecemeal import each_safely, ended, some_of
from judging.rejudging.counting import standing
from judging.rules import superseded_by_new
from judging.states import OPEN, JobState, Priority
from runners.keys import new_id

CHUNK = 200
WITHDRAWN = "the submission was withdrawn"
QUEUED = "already queued: an attempt at it waits"
THREAD_QUEUED = "another attempt of its thread waits, which an urgent one would end"


def work_off(most: int = CHUNK) -> int:
    """Open and end at most this many attempts; how many there were. Nothing left to do: 0."""
    with one_look():
        live = list(Rejudging.objects.filter(state__in=[RejudgingState.WORKING, RejudgingState.CANCELLING]).order_by("created_at"))
    return some_of(live, _step, most=most)


def _step(batch: Rejudging, most: int) -> int:
    return _open_some(batch, most) if batch.state == RejudgingState.WORKING else _end_some(batch, most)


def _open_some(batch: Rejudging, most: int) -> int:
    with one_look():
        ready = list(_ready(batch).values_list("id", flat=True)[:most])
    opened = each_safely(ready, open_item, of="rejudging")
    if not ready:
        _close_if_whole(batch)
    return opened


def _ready(batch: Rejudging) -> QuerySet[RejudgingItem]:
    """Items whose submission's run before them is over."""
    held_up = RejudgingItem.objects.filter(rejudging=batch, submission=OuterRef("submission"), run=OuterRef("run") - 1).filter(
        Q(state=ItemState.WAITING) | Exists(Job.objects.filter(id=OuterRef("job"), state__in=OPEN))
    )
    return RejudgingItem.objects.filter(Q(run=1) | ~Exists(held_up), rejudging=batch, state=ItemState.WAITING).order_by("id")


def open_item(item: int) -> bool:
    """Open the attempt that an item wants, or skip it with a note; whether this call settled it."""
    with one_transaction():
        thread = RejudgingItem.objects.filter(id=item, state=ItemState.WAITING).values_list("submission__thread", flat=True).first()
        if thread is None:
            return False
        held = hold_thread(thread)
        # After the lock, and under the item's own: whoever held them may have opened it or cancelled the rejudging.
        waiting = RejudgingItem.objects.select_for_update(of=("self",)).select_related("rejudging", "submission")
        row = waiting.filter(id=item, state=ItemState.WAITING, rejudging__state=RejudgingState.WORKING).first()
        if row is None:
            return False
        note = _obstacle(held, row)
        settled = {"state": ItemState.SKIPPED, "note": note} if note else _opened(held, row)
        RejudgingItem.objects.filter(id=item).update(**settled)
        held.write()
    return True


def _obstacle(held: Hold, row: RejudgingItem) -> str:
    """Why no attempt is opened now, empty when one is: what waits is never ended by a rejudging of many."""
    if row.submission.deleted_at is not None:
        return WITHDRAWN
    replaced = superseded_by_new(held.jobs.values(), submission=row.submission_id, urgent=row.rejudging.urgent)
    if not replaced:
        return ""
    return QUEUED if any(job.submission == row.submission_id for job in replaced) else THREAD_QUEUED


def _opened(held: Hold, row: RejudgingItem) -> dict[str, object]:
    job, batch = new_id(), row.rejudging
    before = _standing_before(row.submission)
    attempt = row.submission.attempts + 1
    chosen = None if batch.priority is None else Priority(batch.priority)
    open_job(held, row.submission, job=job, attempt=attempt, urgent=batch.urgent, actor=batch.by, reason=batch.reason, priority=chosen)
    return {"state": ItemState.OPENED, "job": job, "before": before}


def _standing_before(submission: Submission) -> UUID | None:
    """The attempt that counts now; its result, where its row was removed with time."""
    job = standing().filter(submission=submission).order_by("-attempt").values_list("id", flat=True).first()
    return job or Result.objects.filter(submission=submission).order_by("-attempt").values_list("job", flat=True).first()


def _close_if_whole(batch: Rejudging) -> None:
    """Every attempt was opened or skipped: the results now count as they come, or wait to be applied."""
    left = RejudgingItem.objects.filter(rejudging=OuterRef("id"), state=ItemState.WAITING)
    state = RejudgingState.OPEN if batch.aside else RejudgingState.DONE
    with one_transaction():
        Rejudging.objects.filter(~Exists(left), id=batch.id, state=RejudgingState.WORKING).update(state=state)


def _end_some(batch: Rejudging, most: int) -> int:
    """End what a cancelled rejudging opened: all of it where results were kept aside, else what no runner holds."""
    states = OPEN if batch.aside else {JobState.QUEUED}
    with one_look():
        jobs = list(Job.objects.filter(id__in=batch.items.filter(job__isnull=False).values("job"), state__in=states)[:most])
    by, reason = batch.settled_by or batch.by, f"the rejudging was cancelled: {batch.reason}"
    each_safely([job.id for job in jobs], lambda job: ended(job, by=by, reason=reason), of="rejudging")
    if not jobs:
        with one_transaction():
            Rejudging.objects.filter(id=batch.id, state=RejudgingState.CANCELLING).update(state=RejudgingState.CANCELLED)
    return len(jobs)
