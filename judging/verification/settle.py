"""cancel: an operator ends a verification; and which of them are over."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db.models import Func

from judging.durable import one_transaction
from judging.errors import NotFound, Refusal
from judging.models import PromiseState, Verification, VerificationState

CANCELLED = "the verification was cancelled before"


class NotToBeCancelled(Refusal):
    """This verification is over."""

    code = "verification.over"


def cancel(verification: UUID, *, by: str) -> None:
    """Send nothing more of it in; the sweep ends what is open. Raises NotFound, NotToBeCancelled."""
    with one_transaction():
        batch = Verification.objects.select_for_update().filter(id=verification).first()
        if batch is None:
            raise NotFound
        if batch.state != VerificationState.WORKING:
            raise NotToBeCancelled(f"This verification is {batch.get_state_display()}.")
        now = Func(function="judge_now")
        Verification.objects.filter(id=batch.id).update(state=VerificationState.CANCELLING, settled_by=by, settled_at=now)
        # Waits for an item that is being sent in at this moment, whose job is then ended with the others.
        batch.items.filter(state=PromiseState.WAITING).update(state=PromiseState.SKIPPED, note=CANCELLED)


def settled_lanes(*, before: datetime) -> list[UUID]:
    """The lanes of verifications that were over before a moment: their jobs have told what they had to."""
    over = Verification.objects.filter(state__in=[VerificationState.DONE, VerificationState.CANCELLED], settled_at__lt=before)
    return list(over.order_by("settled_at").values_list("lane", flat=True))
