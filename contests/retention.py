"""How long a contest's queue rows stay, and starting a rehearsal over (queue.md §4)."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.conf import settings

from contests.models import Activity
from contests.submit import database_now
from judging import queue, verification
from judging.errors import NotFound
from judging.models import Lane

SHORTEST = timedelta(hours=25)
"""A ticket lives at least this long, so that a client that slept through a day still finds its receipt."""


def prune_activities(*, keep: timedelta | None = None) -> int:
    """Remove the finished jobs of activities that ended longer ago than the ticket lifetime; how many.

    An activity without an end never ends: its jobs stay. `keep` shortens or lengthens the lifetime
    (LIMITS.ticket), never under 25 hours. What was judged to verify a problem version belongs to no activity: it goes
    when its verification has been over for as long.
    """
    now = database_now()
    before = now - max(keep if keep is not None else settings.LIMITS.ticket, SHORTEST)
    removed = queue.prune(before=now - SHORTEST, lanes=verification.settled_lanes(before=before))
    for activity in Activity.objects.filter(closes_at__lt=before).order_by("closes_at"):
        lanes = Lane.objects.filter(assignment__round__activity=activity).values_list("id", flat=True)
        removed += queue.prune(before=now - SHORTEST, lanes=list(lanes))
    return removed


def reset_rehearsal(activity: UUID, *, by: str, reason: str) -> int:
    """Withdraw everything that was sent to an activity, its idempotency keys too; how many submissions.

    What runners hold of it is fenced off at once; what is sent from now on is clean. May be said again after a
    crash. Raises NotFound.
    """
    if not Activity.objects.filter(id=activity).exists():
        raise NotFound
    lanes = Lane.objects.filter(assignment__round__activity=activity).values_list("id", flat=True)
    return queue.delete_work_of(lanes=list(lanes), by=by, reason=reason, forget_keys=True)
