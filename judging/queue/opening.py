"""How a submission gets a job: its first with a submit, each further one with a rejudge (queue.md §4)."""

from __future__ import annotations

from uuid import UUID

from judging.hold import Hold
from judging.models import Lane, ProblemVersion, Submission
from judging.rows import Scalar
from judging.rules import priority_of, superseded_by_new
from judging.states import Priority, RecordType


def open_job(
    held: Hold,
    submission: Submission,
    *,
    job: UUID,
    attempt: int,
    urgent: bool,
    actor: str,
    reason: str | None = None,
    priority: Priority | None = None,
) -> None:
    """Open a job on a held thread; waiting jobs it replaces give way to it (seed 000, queue.md §4).

    `reason` is the operator's, None for a first judging; `priority` the class an operator chose, None: by the rule.
    """
    Submission.objects.filter(id=submission.id).update(attempts=attempt)
    lane = Lane.objects.only("priority", "version_id", "problem_id").get(id=submission.lane_id)
    version = submission.version_id if attempt == 1 else _version_of_now(lane)
    problem = ProblemVersion.objects.values_list("problem__max_deliveries", "problem__timeout_seconds")
    cap, timeout = problem.get(id=version)
    replaced = superseded_by_new(held.jobs.values(), submission=submission.id, urgent=urgent)
    for row in replaced:
        held.move(row.id, RecordType.SUPERSEDED, actor=actor, by=str(job))
    chosen = priority_of(urgent=urgent, attempt=attempt, first=Priority(lane.priority), chosen=priority)
    ids = {"thread": held.thread.id, "submission": submission.id, "lane": submission.lane_id, "version": version}
    numbers: dict[str, Scalar] = {"attempt": attempt, "priority": int(chosen), "urgent": urgent, "cap": cap, "timeout": timeout}
    data = {name: str(id_) for name, id_ in ids.items()} | numbers | {"reason": reason}
    held.move(job, RecordType.SUBMITTED, actor=actor, **data)


def _version_of_now(lane: Lane) -> UUID:
    """What a rejudge judges by: the pinned version, else the newest. Mended data is why most rejudges are asked for."""
    if lane.version_id is not None:
        return lane.version_id
    newest = ProblemVersion.objects.filter(problem=lane.problem_id).order_by("-number")
    return newest.values_list("id", flat=True)[0]
