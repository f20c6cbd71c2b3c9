"""Refusals at the gate, put on record: "machine B says it had Accepted at 11:02" must have an answer (ledger.md §1)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import structlog

from judging.durable import one_look, one_transaction
from judging.errors import LeaseForeign, LeaseStale, Refusal
from judging.hold import Hold, hold_job
from judging.models import Delivery, LedgerRecord
from judging.rows import Scalar
from judging.states import RecordType

log = structlog.get_logger()
MOST_PER_LEASE = 5
"""How many refusals of one runner are kept for one lease. What was handed out bounds what a runner can write."""


@contextmanager
def hold_by_lease(job: UUID, asked: str, *, token: UUID | None, runner: UUID, **said: Scalar) -> Iterator[Hold]:
    """One transaction on a job's locked thread, for a call that names a lease.

    When it ends in a stale or foreign lease, what was `asked` and `said` goes on record after it was rolled back,
    and the refusal goes on to the caller. Raises what hold_job raises.
    """
    try:
        with one_transaction():
            yield hold_job(job)
    except (LeaseStale, LeaseForeign) as refusal:
        if token is not None:
            _put_on_record(job, token, f"runner:{runner}", said | {"asked": asked, "why": refusal.code})
        raise


def _put_on_record(job: UUID, token: UUID, actor: str, data: dict[str, Scalar]) -> None:
    """Write the record in a transaction of its own; the caller hears of its own refusal, whatever becomes of this."""
    try:
        if not _is_news(job, token, actor):
            return
        with one_transaction():
            held = hold_job(job)
            # Asked again under the lock: a runner that calls many times at once is kept to the same number.
            if _is_news(job, token, actor):
                held.move(job, RecordType.REFUSED, actor=actor, token=str(token), **data)
                held.write()
    except Refusal as refusal:
        log.warning("refusal_not_recorded", job=str(job), token=str(token), code=refusal.code)


@one_look()
def _is_news(job: UUID, token: UUID, actor: str) -> bool:
    """Whether this lease was ever handed out for this job, and has room for one more refusal of this runner.

    A token that nobody was ever given proves nothing, and recording it would let a runner write without end.
    """
    told = LedgerRecord.objects.filter(job=job, type=RecordType.REFUSED, actor=actor, data__token=str(token))
    return Delivery.objects.filter(token=token, job=job).exists() and told[:MOST_PER_LEASE].count() < MOST_PER_LEASE
