"""delete_submission and its wider forms: what is deleted cannot be undone by a late runner (queue.md §4).

Each submission is one transaction under its thread's lock: its mark and the end of its open jobs are one step, so
every later write of their deliveries meets a lease that is gone. Wider deletes go submission by submission in id
order and may be said again after a crash.
"""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from judging.durable import one_look, one_transaction
from judging.errors import NotFound
from judging.hold import hold_thread
from judging.models import Submission, Ticket
from judging.states import OPEN, RecordType
from judging.text import storable
from judging.wake import Judged, announce


def delete_submission(submission: UUID, *, by: str, reason: str, forget_keys: bool = False) -> bool:
    """Withdraw a submission: it counts and is judged no more. Whether this call did it.

    `forget_keys` also frees its idempotency keys, for a rehearsal that starts again. Raises NotFound.
    """
    with one_look():
        row = Submission.objects.filter(id=submission).only("thread_id").first()
    if row is None:
        raise NotFound
    with one_transaction():
        held = hold_thread(row.thread_id)
        if not Submission.objects.filter(id=submission, deleted_at=None).update(deleted_at=held.at):
            return False
        if forget_keys:
            Ticket.objects.filter(submission=submission).delete()
        for job in [job for job in held.jobs.values() if job.submission == submission and job.state in OPEN]:
            held.move(job.id, RecordType.DELETE_MARKED, actor=by, reason=storable(reason))
        held.write()
        announce(Judged(submission))
    return True


def delete_work_of(*, by: str, reason: str, authors: Iterable[UUID] = (), lanes: Iterable[UUID] = (), forget_keys: bool = False) -> int:
    """Withdraw every submission of these participants and in these lanes; how many this call withdrew."""
    live = Submission.objects.filter(deleted_at=None)
    found = live.filter(author__in=list(authors)) | live.filter(lane__in=list(lanes))
    with one_look():
        ids = list(found.order_by("id").values_list("id", flat=True))
    return sum(delete_submission(submission, by=by, reason=reason, forget_keys=forget_keys) for submission in ids)
