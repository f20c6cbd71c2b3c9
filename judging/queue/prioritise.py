"""prioritise: an operator moves an open job to another class (queue.md §4)."""

from __future__ import annotations

from uuid import UUID

from judging.durable import one_transaction
from judging.errors import JobStateWrong
from judging.hold import hold_job
from judging.states import OPEN, Priority, RecordType
from judging.text import storable


def prioritise(job: UUID, priority: Priority, *, by: str, reason: str) -> None:
    """Put an open job into another class; it keeps its place within its thread, which its age decides.

    Raises NotFound, and JobStateWrong when the job is finished.
    """
    with one_transaction():
        held = hold_job(job)
        row = held.jobs[job]
        if row.state not in OPEN:
            raise JobStateWrong(f"This job is {row.state} already.")
        if row.priority != priority:
            held.move(job, RecordType.PRIORITISED, actor=by, priority=int(priority), reason=storable(reason))
        held.write()
