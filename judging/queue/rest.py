"""Lanes with nothing to claim are put to rest, so that a claim does not look at them."""

from __future__ import annotations

from judging.durable import one_look, one_transaction
from judging.models import Lane, Thread

_BATCH = 500


def rest_lanes() -> int:
    """Clear `active` on lanes with nothing claimable; how many.

    The lane is locked first and looked at again in a new statement: work that becomes claimable holds the
    lane FOR KEY SHARE until it commits, so it is either seen here, or sets `active` again after us.
    """
    with one_look():
        idle = list(Lane.objects.filter(active=True).exclude(threads__claimable=True).values_list("id", flat=True)[:_BATCH])
    rested = 0
    for lane in idle:
        with one_transaction():
            locked = Lane.objects.select_for_update(skip_locked=True).filter(id=lane, active=True).first()
            if locked and not Thread.objects.filter(lane=lane, claimable=True).exists():
                rested += Lane.objects.filter(id=lane, active=True).update(active=False)
    return rested
