"""switch: maintenance and external judging (runner-protocol §4 and §10). Idempotent: the first time and reason stay."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import connection
from django.db.models import QuerySet

from judging.durable import one_transaction
from judging.models import Installation, Lane, Maintenance
from judging.queue.reroute import announce_work_of
from judging.text import storable
from judging.wake import Everyone, announce

_DRAINED = """
id = 1 AND level = 'draining'
AND (since <= judge_now() - %s::interval OR NOT EXISTS (SELECT 1 FROM judging_job WHERE state = 'running'))
"""
_IS_DRAINED = f"SELECT 1 FROM judging_installation WHERE {_DRAINED}"
_CLOSE = f"UPDATE judging_installation SET level = 'closed' WHERE {_DRAINED}"
# A claim locks its runner's row before it looks whether the doors are open: those under way are waited for, and those that
# come wait for this and see the doors closed.
_WAIT_FOR_CLAIMS = "LOCK TABLE runners_runner IN EXCLUSIVE MODE"


def switch_maintenance(level: Maintenance, *, reason: str = "") -> Installation:
    """Set the maintenance level; how it stands afterwards. Reopening wakes whoever may take what waits."""
    with one_transaction():
        Installation.objects.get_or_create(id=1)
        row = Installation.objects.select_for_update().get(id=1)
        if row.level != level:
            row.since = None if level == Maintenance.OPEN else row.since or _now()
            row.reason = "" if level == Maintenance.OPEN else row.reason or storable(reason)[:500]
            row.level = level
            row.save(update_fields=["level", "since", "reason"])
        _announce(opened=level == Maintenance.OPEN, lanes=Lane.objects.all())
    return row


def switch_external(on: bool) -> None:  # noqa: FBT001 - the switch's own position
    """Turn the installation's external judging on or off."""
    with one_transaction():
        Installation.objects.get_or_create(id=1)
        Installation.objects.filter(id=1).update(external_judging=on)
        _announce(opened=on, lanes=Lane.objects.filter(external=True))


def _announce(*, opened: bool, lanes: QuerySet[Lane]) -> None:
    """Work that may be taken again finds its runners; what may not be taken any more, everyone is to hear."""
    if opened:
        announce_work_of(lanes)
    else:
        announce(Everyone())


def close_if_drained() -> bool:
    """Close a draining installation when nothing runs, or when the drain has lasted long enough."""
    with one_transaction(), connection.cursor() as cursor:
        longest = [str(settings.LIMITS.drain)]
        cursor.execute(_IS_DRAINED, longest)
        if cursor.fetchone() is None:
            return False
        cursor.execute(_WAIT_FOR_CLAIMS)
        cursor.execute(_CLOSE, longest)
        return bool(cursor.rowcount)


def _now() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT judge_now()")
        now: datetime = cursor.fetchone()[0]
    return now
