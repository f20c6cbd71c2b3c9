"""claim: one runner takes one job, durably, before the answer is written (runner-protocol §4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.db import connection

from judging.durable import one_transaction
from judging.errors import RunnerNotApproved
from judging.hold import COLUMNS, Hold, read
from judging.models import Lane, Submission, SubmissionFile
from judging.queue.reap import expire_running
from judging.rows import JobRow
from judging.rules import granted_lease
from judging.states import Cause, RecordType

CLAIM = f"""
SELECT {COLUMNS}, p.answer FROM judge_pick(%s, %s) p LEFT JOIN LATERAL judge_hold(p.thread, NULL, false) h ON true
"""
_LOOKS = 16
_TIDYING = 8
"""Of these, so many may end lapsed leases first, the longest lapsed before the others; the rest are for taking."""


class Nothing(Enum):
    """Why a claim answers no job. A runner hears 204 for both."""

    WANT_OF_WORK = "nothing here for this runner: it may wait to be told"
    SHUT = "maintenance, or external judging is off: final for this call"


@dataclass(frozen=True, slots=True)
class ClaimedJob:
    """What a claim hands out: the row as leased, and what travels with it verbatim (seed 000)."""

    row: JobRow
    problem_type: str
    package: UUID | None
    package_sha256: str
    files: tuple[dict[str, object], ...]
    props: str
    version_props: str
    config: str

    @property
    def outside_id(self) -> str | None:
        """Under which outside id an earlier delivery handed this work over: to be resumed, not repeated."""
        return self.row.outside_id


def claim(runner: UUID, *, lease_seconds: float | None = None) -> ClaimedJob | Nothing:
    """Hand the oldest job this runner may judge to it, under a fresh lease of the clamped length.

    Everything is read at this moment: the runner's approval, types and tags, the lanes' pools, maintenance.
    Raises RunnerNotApproved when the runner is pending, revoked or gone.
    """
    limits = settings.LIMITS
    granted = int(granted_lease(lease_seconds, default=limits.lease, limits=limits).total_seconds())
    for look in range(_LOOKS):
        with one_transaction():
            answer = _look(runner, granted, end_lapsed=look < _TIDYING)
        if answer is not None:
            return answer if isinstance(answer, Nothing) else _document(answer)
    return Nothing.WANT_OF_WORK


def _look(runner: UUID, granted: int, *, end_lapsed: bool) -> JobRow | Nothing | None:
    """One look at the queue; None when it only tidied what stood in the way and must look again."""
    with connection.cursor() as cursor:
        cursor.execute(CLAIM, [runner, end_lapsed])
        rows: Sequence[Sequence[Any]] = cursor.fetchall()
    answer = rows[0][-1]
    if answer == "unapproved":
        raise RunnerNotApproved
    if answer == "shut":
        return Nothing.SHUT
    held = read(rows)
    if held is None:
        return Nothing.WANT_OF_WORK
    if answer == "expired":
        # Met on the way: ended by the reaper's own function, so that recovery does not wait for cron.
        expire_running(held, actor="system")
        held.write()
        return None
    return _take(held, runner, granted)


def _take(held: Hold, runner: UUID, granted: int) -> JobRow | None:
    """Lease the head of a locked thread, or give it up when its hand-outs are used."""
    head = held.thread.head
    assert head is not None
    row = held.jobs[head]
    if row.deliveries >= row.cap:
        held.move(head, RecordType.REQUEUED, actor="system", cause=Cause.EXHAUSTED, reason=row.reason)
        held.write()
        return None
    leased = held.move(head, RecordType.LEASED, actor=f"runner:{runner}", token=str(uuid4()), runner=str(runner), granted=granted)
    held.write()
    return leased


def _document(row: JobRow) -> ClaimedJob:
    """What never changes once a job exists, read after the commit: a crash here costs an unheard lease."""
    submission = Submission.objects.select_related("version__package", "lane").get(id=row.submission)
    lane: Lane = submission.lane
    package = submission.version.package
    files = SubmissionFile.objects.select_related("file").filter(submission=submission).order_by("position")
    return ClaimedJob(
        row=row,
        problem_type=lane.problem_type,
        package=package.id if package else None,
        package_sha256=package.sha256 if package else "",
        files=tuple(
            {
                "name": item.name,
                "fileName": item.file_name,
                "fileId": str(item.file_id),
                "sha256": item.file.sha256,
                "sizeBytes": item.file.size_bytes,
            }
            for item in files
        ),
        props=submission.props,
        version_props=submission.version.props,
        config=lane.config,
    )
