"""apply and cancel: an operator decides about what a rejudging found."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import Exists, Func, Max, OuterRef, QuerySet

from judging.durable import one_transaction
from judging.errors import NotFound, Refusal
from judging.models import ItemState, Job, LedgerRecord, Rejudging, RejudgingItem, RejudgingState, Result
from judging.rejudging.counting import overtaken
from judging.states import OPEN, RecordType

CANCELLED = "the rejudging was cancelled before"


class NotToBeApplied(Refusal):
    """The results of this rejudging are not kept aside."""

    code = "rejudging.notAside"


class StillJudging(Refusal):
    """Some of its attempts are still being judged."""

    code = "rejudging.stillJudging"


class NotToBeCancelled(Refusal):
    """This rejudging is over."""

    code = "rejudging.over"


def apply(rejudging: UUID, *, by: str) -> int:
    """Let the results that were kept aside count, all at once; of how many submissions they count from now on.

    One that was judged once more since keeps that later result, and is not among them. Of several runs the last with a
    result counts. What was given up or voided changes nothing.
    Raises NotFound, NotToBeApplied, StillJudging.
    """
    with one_transaction():
        batch = _locked(rejudging)
        if batch.state != RejudgingState.OPEN:
            raise NotToBeApplied(f"This rejudging is {batch.get_state_display()}.")
        if (left := Job.objects.filter(id__in=_jobs(rejudging), state__in=OPEN).count()) > 0:
            raise StillJudging(f"{left} of its attempts are still being judged.")
        chosen = _last_with_result(rejudging)
        late = overtaken(batch)
        RejudgingItem.objects.filter(id__in=chosen.values()).update(aside=False)
        _settle(batch, RejudgingState.APPLIED, by)
    return sum(submission not in late for submission in chosen)


def cancel(rejudging: UUID, *, by: str) -> None:
    """Open nothing more of it; the sweep ends what is open. Results that were kept aside never count.

    Raises NotFound, NotToBeCancelled.
    """
    with one_transaction():
        batch = _locked(rejudging)
        if batch.state not in {RejudgingState.WORKING, RejudgingState.OPEN}:
            raise NotToBeCancelled(f"This rejudging is {batch.get_state_display()}.")
        _settle(batch, RejudgingState.CANCELLING, by)
        # Waits for an item that is being opened at this moment, which is then ended with the others.
        batch.items.filter(state=ItemState.WAITING).update(state=ItemState.SKIPPED, note=CANCELLED)


def _locked(rejudging: UUID) -> Rejudging:
    batch = Rejudging.objects.select_for_update().filter(id=rejudging).first()
    if batch is None:
        raise NotFound
    return batch


def _settle(batch: Rejudging, state: RejudgingState, by: str) -> None:
    Rejudging.objects.filter(id=batch.id).update(state=state, settled_by=by, settled_at=Func(function="judge_now"))


def _jobs(rejudging: UUID) -> QuerySet[Any]:
    return RejudgingItem.objects.filter(rejudging=rejudging, job__isnull=False).values("job")


def _last_with_result(rejudging: UUID) -> dict[UUID, int]:
    """The item that counts of each submission."""
    # Asked of the ledger: the row that says so too may have been removed with time.
    voided = LedgerRecord.objects.filter(job=OuterRef("job"), type=RecordType.VOIDED)
    judged = Result.objects.filter(job=OuterRef("job"), infrastructure_failure=False)
    fit = RejudgingItem.objects.filter(~Exists(voided), Exists(judged), rejudging=rejudging)
    return dict(fit.values_list("submission").annotate(last=Max("id")).order_by())
