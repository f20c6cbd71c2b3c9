"""The story of a job, a submission or a thread, in words (ledger.md §4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from uuid import UUID

from judging.audit.run import explain
from judging.models import LedgerRecord, Submission
from judging.records import instant
from judging.replay import Divergence
from judging.story import Line, Told, tell
from judging.text import printable


class Unknown(ValueError):
    """Nothing here is called that, or what was asked makes no sense together."""


def story(asked: UUID) -> Iterator[str]:
    """Line by line what happened to a job, to every job of a submission or of a thread, and whether it is proved.

    Raises Unknown when the ledger has never heard of that id.
    """
    rows = list(_records(asked))
    if not rows:
        raise Unknown(f"The ledger has never heard of {asked}.")
    # Jobs one after the other, in the order in which they were opened.
    for job in dict.fromkeys(row.job for row in rows):
        yield f"job {job}"
        yield from (f"  {_sentence(line)}" for line in tell(_told(row) for row in rows if row.job == job))
    for thread in dict.fromkeys(row.thread for row in rows):
        found = explain(thread)
        proved = f"diverged: {found}" if isinstance(found, Divergence) else f"equal, {found.n} records"
        yield f"thread {thread}: {proved}"


def _told(row: LedgerRecord) -> Told:
    return Told(row.n, row.at, row.type, row.job, row.actor, row.data)


def _sentence(line: Line) -> str:
    until = f" Until {instant(line.until)}." if line.until else ""
    reason = f" Reason given: {line.reason}" if line.reason else ""
    return printable(f"{instant(line.at)}  #{line.n:<4} {line.actor}: {line.words}{until}{reason}")


def _records(asked: UUID) -> Iterable[LedgerRecord]:
    """The records that tell of an id, whatever it names, in the ledger's order."""
    ledger = LedgerRecord.objects.order_by("thread", "n")
    for found in (ledger.filter(job=asked), ledger.filter(thread=asked)):
        if found.exists():
            return found
    submission = Submission.objects.filter(id=asked).first()
    if submission is None:
        return []
    thread = ledger.filter(thread=submission.thread_id)
    return thread.filter(job__in=thread.filter(data__submission=str(asked)).values("job"))
