"""claim: one runner takes one job, durably, before the answer is written (runner-protocol §4)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any
from uuid import UUID

from django.conf import settings

from judging.durable import one_statement, one_transaction
from judging.errors import RunnerNotApproved
from judging.hold import COLUMNS, Hold, read
from judging.queue.reap import expire_running
from judging.rows import JobRow, row_of
from judging.rules import granted_lease
from judging.states import Cause, RecordType
from runners.prepared import prepared_cursor

CLAIM = "SELECT * FROM judge_claim(%s, %s, %s)"
"""Pick, lease, record, delivery and what travels with the job: one statement, which is its own transaction."""
TIDY = f"""
SELECT {COLUMNS}, p.answer FROM judge_pick(%s, true) p LEFT JOIN LATERAL judge_held(p.thread, NULL, false) h ON true
"""
_LOOKS = 16
"""How often one claim looks: each look but the last may have ended a lapsed lease, or given up a job without hand-outs."""


class Nothing(Enum):
    """Why a claim answers no job. A runner hears 204 for both."""

    WANT_OF_WORK = "nothing here for this runner: it may wait to be told"
    PASSED_BY = "there may be work, but somebody held it, or too much stood in its way: nobody will tell, so it is to look again soon"
    SHUT = "maintenance, or external judging is off: final for this call"


_NOTHING = {"nothing": Nothing.WANT_OF_WORK, "passed": Nothing.PASSED_BY, "shut": Nothing.SHUT}


@dataclass(frozen=True, slots=True)
class Terms:
    """On what terms a job is handed out: for how many seconds, and whether its runner is on the channel."""

    granted: int
    channel: bool


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
    granted = granted_lease(lease_seconds, default=limits.lease, limits=limits)
    return _claim(runner, Terms(int(granted.total_seconds()), channel=False))


def claim_on_channel(runner: UUID) -> ClaimedJob | Nothing:
    """As claim, for a runner on the channel: its lease lasts as long as heartbeats come (channel-protocol §4).

    Raises RunnerNotApproved.
    """
    return _claim(runner, Terms(int(settings.LIMITS.channel_lease.total_seconds()), channel=True))


def _claim(runner: UUID, terms: Terms) -> ClaimedJob | Nothing:
    for _ in range(_LOOKS):
        answer = _look(runner, terms)
        if answer is not None:
            return answer
        _tidy(runner)
    return Nothing.PASSED_BY


def _look(runner: UUID, terms: Terms) -> ClaimedJob | Nothing | None:
    """One look at the queue; None when something stands in the way that must be tidied first."""
    with one_statement(), prepared_cursor() as cursor:
        cursor.execute(CLAIM, [runner, terms.granted, terms.channel])
        answer, *columns = cursor.fetchone()
    if answer == "unapproved":
        raise RunnerNotApproved
    return _handed(columns) if answer == "held" else _NOTHING.get(answer)


def _tidy(runner: UUID) -> None:
    """End what a claim met on its way and may not take: a lapsed lease, or a head whose hand-outs are used.

    By the reaper's own function, so that recovery does not wait for cron. What was in the way may be gone by now: the
    pick is made again, under the lock, and nothing is done to what may be taken.
    """
    with one_transaction(), prepared_cursor() as cursor:
        cursor.execute(TIDY, [runner])
        rows: Sequence[Sequence[Any]] = cursor.fetchall()
        held, answer = read(rows), rows[0][-1]
        if held is None:
            return
        if answer == "expired":
            expire_running(held, actor="system")
        else:
            _give_up(held)
        held.write()


def _give_up(held: Hold) -> None:
    """End the head of a locked thread when its hand-outs are used."""
    head = held.thread.head
    assert head is not None
    row = held.jobs[head]
    if row.deliveries >= row.cap:
        held.move(head, RecordType.REQUEUED, actor="system", cause=Cause.EXHAUSTED, reason=row.reason)


def _handed(columns: Sequence[Any]) -> ClaimedJob:
    """The leased job and what travels with it, out of judge_claim's columns."""
    leased, problem_type, package, package_sha256, files, props, version_props, config = columns
    return ClaimedJob(
        row=row_of(json.loads(leased)),
        problem_type=problem_type,
        package=package,
        package_sha256=package_sha256,
        files=tuple(json.loads(files)),
        props=props,
        version_props=version_props,
        config=config,
    )
