"""release: the holder stops and gives the job back; the first three are free (seed 000)."""

from __future__ import annotations

from uuid import UUID

from django.conf import settings

from judging.refused import hold_by_lease
from judging.states import RecordType


def release(job: UUID, *, token: UUID | None, runner: UUID) -> None:
    """Return a held job to the queue at once, or fail it when releases and hand-outs are used up.

    Raises what the gate raises.
    """
    actor = f"runner:{runner}"
    with hold_by_lease(job, "release", token=token, runner=runner) as held:
        row = held.gate(job, token=token, runner=runner)
        held.move(job, RecordType.RELEASED, actor=actor, token=str(row.token), free=settings.LIMITS.free_releases)
        held.returned(job, actor=actor)
        held.write()
