"""progress: the holder says it still works; more generous than the contract, as seed 000 has it."""

from __future__ import annotations

from uuid import UUID

from judging.durable import one_transaction
from judging.hold import hold_job
from judging.queue.renew import extend


def progress(job: UUID, *, token: UUID | None, runner: UUID) -> None:
    """As renew, by the lease this delivery was granted. Raises what the gate raises."""
    with one_transaction():
        held = hold_job(job)
        row = held.gate(job, token=token, runner=runner)
        extend(held, row, lease_seconds=None)
        held.write()
