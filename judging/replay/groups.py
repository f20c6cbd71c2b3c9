"""PURE: rules that bind several jobs of a thread, or one record to the next (queue.md §2 and §4).

Those that look at one job alone are in `judging.rows`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from uuid import UUID

from judging.ids import id_text
from judging.records import Record
from judging.replay.state import Due, Tale
from judging.rows import Illegal, JobRow
from judging.rules import displaced_on_return, head_of, superseded_by_new
from judging.states import Cause, JobState, RecordType

BY_THE_HOLDER = frozenset(
    {
        RecordType.RENEWED, RecordType.STARTED, RecordType.HEARD, RecordType.ADMITTED, RecordType.RELEASED,
        RecordType.ARRIVED, RecordType.REPORTED,
    }
)  # fmt: skip
"""Only the runner that holds the job does these (runner-protocol §5), or who held it last when contact was lost."""


def require_place(due: Due, record: Record, kind: RecordType) -> None:
    """Records of one decision stand together. Raises Illegal when something else comes between."""
    if record.at != due.at:
        raise Illegal(f"{kind} before a decision was told whole")
    if due.displaces is not None:
        if (kind, record.job, record.data.get("by")) != (RecordType.DISPLACED, due.displaces, str(due.by)):
            raise Illegal(f"{kind} where job {due.displaces} gives way to {due.by}")
    elif kind is RecordType.SUPERSEDED:
        if record.data.get("by") != str(due.by):
            raise Illegal("superseded by two new jobs at once")
    elif (kind, record.job) != (RecordType.SUBMITTED, due.by):
        raise Illegal(f"{kind} where job {due.by} is opened")


def require_actor(record: Record, kind: RecordType, tale: Tale | None) -> None:
    """What only the holder does names the holder. Raises Illegal."""
    holder: object
    if record.type in BY_THE_HOLDER:
        holder = _holder(tale)
    elif kind is RecordType.LEASED:
        holder = record.data.get("runner")
    elif _gave_up(record, kind, tale):
        holder = _holder(tale)
    else:
        return
    if holder is None or record.actor != f"runner:{holder}":
        raise Illegal(f"{kind} by {record.actor}, who does not hold it")


def _holder(tale: Tale | None) -> str | None:
    """Who holds the job, or held it when contact was lost."""
    row = tale.row if tale else None
    if tale is None or row is None:
        return None
    holder = row.runner if row.lost is None else tale.handouts[-1].runner
    return None if holder is None else id_text(holder)


def _gave_up(record: Record, kind: RecordType, tale: Tale | None) -> bool:
    """Whether the holder says that it failed, which others may say only of an outcome that makes no result."""
    if kind is RecordType.FAILED:
        return tale is not None and tale.row is not None and tale.row.outcome is None
    return kind is RecordType.REQUEUED and record.data.get("cause") == Cause.INFRASTRUCTURE


def require_head(record: Record, open_rows: Mapping[UUID, JobRow]) -> None:
    """Only a thread's head is handed out, and only while nothing of it runs (I1, I2). Raises Illegal."""
    if len(open_rows) == 1 and record.job in open_rows:
        return
    head = head_of(open_rows.values())
    if head.running is not None:
        raise Illegal(f"leased while job {head.running} runs")
    if head.job != record.job:
        raise Illegal(f"leased before job {head.job}, the thread's head")


def require_successor(new: JobRow, due: Due | None, open_rows: Mapping[UUID, JobRow]) -> None:
    """A new job ends exactly what the rules make it replace, and draws the next attempt. Raises Illegal."""
    if due is None and not open_rows:
        return
    ended = due.ended if due else ()
    before = [row for row in open_rows.values() if row.id != new.id] + list(ended)
    replaced = superseded_by_new(before, submission=new.submission, urgent=new.urgent)
    if [row.id for row in replaced] != [row.id for row in ended]:
        raise Illegal("submitted without ending exactly what it replaces")


def require_attempt(new: JobRow, known: Collection[JobRow]) -> None:
    """Attempts of a submission are numbered in the order they were opened (I6). Raises Illegal."""
    if any(row.submission == new.submission and row.attempt >= new.attempt for row in known):
        raise Illegal(f"attempt {new.attempt} after a later one")


def opens_group(record: Record, before: JobRow | None, due: Due | None) -> Due | None:
    """What a `superseded` record makes due: the job in whose favour it was written."""
    if before is None:
        return None
    ended = due.ended if due else ()
    return Due(UUID(str(record.data["by"])), record.at, ended=(*ended, before))


def gives_way(before: JobRow | None, after: JobRow, open_rows: Collection[JobRow], record: Record) -> Due | None:
    """What a job that came back makes due: an urgent one gives way to a newer urgent one that waits (I3)."""
    if before is None or before.state is not JobState.RUNNING:
        return None
    heir = displaced_on_return(after, open_rows)
    return Due(heir.id, record.at, displaces=after.id) if heir else None
