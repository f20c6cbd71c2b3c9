"""renew: the holder moves its deadline out. Renewing never shortens (seed 000)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings

from judging.hold import Hold
from judging.refused import hold_by_lease
from judging.rows import JobRow
from judging.rules import granted_lease
from judging.states import RecordType


@dataclass(frozen=True, slots=True)
class Lease:
    """What a holder is told of its lease."""

    job: UUID
    token: UUID
    until: datetime


def renew(job: UUID, *, token: UUID | None, runner: UUID, lease_seconds: float | None = None) -> Lease:
    """Extend a held lease to now + the clamped length, or leave a later deadline as it is.

    Without a length: the one this delivery was granted. Raises what the gate raises (runner-protocol §5).
    """
    with hold_by_lease(job, "renew", token=token, runner=runner) as held:
        row = held.gate(job, token=token, runner=runner)
        row = extend(held, row, lease_seconds=lease_seconds)
        held.write()
    assert row.lease_until is not None
    assert row.token is not None
    return Lease(job, row.token, row.lease_until)


def extend(held: Hold, row: JobRow, *, lease_seconds: float | None) -> JobRow:
    """Move the deadline of a gated job out, or only mark its delivery heard; no record when neither is news."""
    limits = settings.LIMITS
    granted = timedelta(seconds=row.granted or 0)
    length = granted_lease(lease_seconds, default=granted, limits=limits)
    limit = limits.hard_limit(row.timeout)
    if row.lease_until is None or row.claimed_at is None:
        return hear(held, row)
    # A run that never ends must not be held by renewals either: the same limit as on the channel, from the claim on.
    if min(held.at + length, row.claimed_at + timedelta(seconds=limit)) > row.lease_until:
        seconds, actor = int(length.total_seconds()), f"runner:{row.runner}"
        return held.move(row.id, RecordType.RENEWED, actor=actor, token=str(row.token), seconds=seconds, limit=limit)
    return hear(held, row)


def hear(held: Hold, row: JobRow) -> JobRow:
    """Mark the delivery of a gated job heard, once: from then on losing it counts (seed 000)."""
    if row.heard:
        return row
    return held.move(row.id, RecordType.HEARD, actor=f"runner:{row.runner}", token=str(row.token))
