"""Attempts whose rows were removed with time (queue.md §4, reclaim): the ledger, which nothing removes, knows what each ended as.

A result alone does not: it tells neither that it was voided, nor that a later attempt was given up without one.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

from judging.models import Submission
from judging.rejudging.counting import GAVE_WAY

VOIDED = "voided"


@dataclass(frozen=True, slots=True)
class Attempt:
    """The attempt that speaks for a submission; `state` is the job's, or VOIDED where its result was declared void."""

    submission: UUID
    job: UUID
    number: int
    state: str


# The record before `reclaimed` ended the job, whatever was refused since: every type that is not named ends one as failed.
_ENDED = """
SELECT DISTINCT ON (submission) submission, job, attempt, state FROM (
    SELECT o.submission, o.job, o.attempt, CASE
        WHEN l.type = 'voided' OR l.data->>'voided_at' IS NOT NULL THEN 'voided'
        WHEN l.type = 'baseline' THEN l.data->>'state'
        WHEN l.type = 'reported' AND (l.data->>'judged')::boolean THEN 'completed'
        WHEN l.type IN ('cancelled', 'delete_marked') THEN 'cancelled'
        WHEN l.type IN ('superseded', 'displaced') THEN 'superseded'
        ELSE 'failed' END AS state
    FROM (
        SELECT r.job, (r.data->>'submission')::uuid AS submission, (r.data->>'attempt')::integer AS attempt
        FROM judging_ledgerrecord r WHERE r.thread = ANY(%(threads)s) AND r.type IN ('submitted', 'baseline')) o,
    LATERAL (
        SELECT e.type, e.data FROM judging_ledgerrecord e
        WHERE e.job = o.job AND e.type NOT IN ('refused', 'reclaimed') ORDER BY e.n DESC LIMIT 1) l
    WHERE o.submission = ANY(%(submissions)s)
        AND NOT EXISTS (SELECT 1 FROM judging_job j WHERE j.id = o.job)
        AND NOT EXISTS (SELECT 1 FROM judging_rejudgingitem i WHERE i.job = o.job AND i.aside)) ended
WHERE state <> ALL(%(gave_way)s) ORDER BY submission, attempt DESC
"""


def gone(submissions: Collection[Submission]) -> list[Attempt]:
    """Of each that has one, the last removed attempt that neither gave way nor is kept aside."""
    if not submissions:
        return []
    threads = {row.thread_id for row in submissions}
    ids = [row.id for row in submissions]
    named: dict[str, Any] = {"threads": list(threads), "submissions": ids, "gave_way": [str(state) for state in GAVE_WAY]}
    with connection.cursor() as cursor:
        cursor.execute(_ENDED, named)
        return [Attempt(*row) for row in cursor.fetchall()]
