"""claim: one runner takes one job, durably, before the answer is written (runner-protocol §4)."""

from __future__ import annotations

import json
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
from judging.queue.reap import expire_running
from judging.rows import JobRow, Scalar
from judging.rules import granted_lease
from judging.states import Cause, RecordType

# What travels with the job is read under the lock, in the same round trip, for the head of a thread that is free.
CLAIM = f"""
SELECT {COLUMNS}, p.answer, d.* FROM judge_pick(%s, true) p
LEFT JOIN LATERAL judge_held(p.thread, NULL, false) h ON true
LEFT JOIN LATERAL judge_document_of_job(CASE WHEN p.answer = 'ready' AND h.job_id = h.thread_head THEN h.job_id END) d ON true
"""
_DOCUMENT = 7
"""How many columns judge_document_of_job answers; the pick's answer stands before them."""
_LOOKS = 16
"""How often one claim looks: each look but the last may have ended a lapsed lease, or given up a job without hand-outs."""


class Nothing(Enum):
    """Why a claim answers no job. A runner hears 204 for both."""

    WANT_OF_WORK = "nothing here for this runner: it may wait to be told"
    PASSED_BY = "work for this runner, but somebody held it at that moment: nobody will tell, so it is to look again soon"
    SHUT = "maintenance, or external judging is off: final for this call"


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
        with one_transaction():
            answer = _look(runner, terms)
        if answer is not None:
            return answer
    return Nothing.WANT_OF_WORK


def _look(runner: UUID, terms: Terms) -> ClaimedJob | Nothing | None:
    """One look at the queue; None when it only tidied what stood in the way and must look again."""
    with connection.cursor() as cursor:
        cursor.execute(CLAIM, [runner])
        rows: Sequence[Sequence[Any]] = cursor.fetchall()
    answer = rows[0][-1 - _DOCUMENT]
    if answer == "unapproved":
        raise RunnerNotApproved
    if answer == "shut":
        return Nothing.SHUT
    if answer == "passed":
        return Nothing.PASSED_BY
    held = read(rows)
    if held is None:
        return Nothing.WANT_OF_WORK
    if answer == "expired":
        # Met on the way: ended by the reaper's own function, so that recovery does not wait for cron.
        expire_running(held, actor="system")
        held.write()
        return None
    leased = _take(held, runner, terms)
    return None if leased is None else _with_document(leased, rows)


def _take(held: Hold, runner: UUID, terms: Terms) -> JobRow | None:
    """Lease the head of a locked thread, or give it up when its hand-outs are used."""
    head = held.thread.head
    assert head is not None
    row = held.jobs[head]
    if row.deliveries >= row.cap:
        held.move(head, RecordType.REQUEUED, actor="system", cause=Cause.EXHAUSTED, reason=row.reason)
        held.write()
        return None
    lease: dict[str, Scalar] = {"token": str(uuid4()), "runner": str(runner), "granted": terms.granted, "channel": terms.channel}
    leased = held.move(head, RecordType.LEASED, actor=f"runner:{runner}", **lease)
    held.write()
    return leased


def _with_document(row: JobRow, rows: Sequence[Sequence[Any]]) -> ClaimedJob:
    """The leased job with what came along with its thread's head."""
    document = next(columns for found in rows if (columns := found[-_DOCUMENT:])[0] is not None)
    problem_type, package, package_sha256, files, props, version_props, config = document
    return ClaimedJob(
        row=row,
        problem_type=problem_type,
        package=package,
        package_sha256=package_sha256,
        files=tuple(json.loads(files)),
        props=props,
        version_props=version_props,
        config=config,
    )
