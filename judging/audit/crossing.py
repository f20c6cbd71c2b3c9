"""What must be unique or known in the whole ledger, whatever thread it stands in (I4, I5), and moments nobody can read."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from uuid import UUID

from django.db import connection

from judging.replay import Difference, Divergence, Kind, Place


@dataclass(frozen=True, slots=True)
class Crossing:
    """One rule: what its breach is called, what should stand there, and a query of the breaches.

    The query answers thread, record, job, column and the value found; each breach once. `follows`: it is also met where a row
    was altered that the thread's own look has named already, so it is told only of threads where nothing was found.
    """

    words: str
    logged: str
    query: str
    follows: bool = False


CROSSINGS = (
    Crossing(
        "one lease token was handed out twice",
        "a token of its own",
        """
        SELECT thread, n, job, 'data.token', data->>'token' FROM (
            SELECT r.*, row_number() OVER (PARTITION BY r.data->>'token' ORDER BY r.id) AS place
            FROM judging_ledgerrecord r WHERE r.type = 'leased') seen
        WHERE place = 2
        """,
    ),
    Crossing(
        "one job was opened in two threads",
        "a job of its own",
        """
        SELECT thread, n, job, 'job', job::text FROM (
            SELECT r.*, row_number() OVER (PARTITION BY r.job ORDER BY r.id) AS place,
                first_value(r.thread) OVER (PARTITION BY r.job ORDER BY r.id) AS first
            FROM judging_ledgerrecord r WHERE r.type IN ('submitted', 'baseline')) seen
        WHERE place = 2 AND thread <> first
        """,
    ),
    Crossing(
        "a job's submission is gone, or in another thread",
        "the job's own thread",
        """
        SELECT j.thread_id, j.n, j.id, 'submission.thread', s.thread_id::text
        FROM judging_job j LEFT JOIN judging_submission s ON s.id = j.submission_id WHERE s.thread_id IS DISTINCT FROM j.thread_id
        """,
        follows=True,
    ),
    Crossing(
        "one idempotency key has two receipts",
        "a key of its own",
        """
        SELECT s.thread_id, 0, k.job, 'ticket.key', k.key FROM (
            SELECT t.*, row_number() OVER (PARTITION BY t.organization, t.scope, t.key ORDER BY t.id) AS place
            FROM judging_ticket t) k
        JOIN judging_submission s ON s.id = k.submission_id WHERE place = 2
        """,
    ),
    Crossing(
        "a receipt names a job that was not opened for its submission",
        "a job of this submission",
        """
        SELECT s.thread_id, 0, k.job, 'ticket.job', k.job::text
        FROM judging_ticket k JOIN judging_submission s ON s.id = k.submission_id
        WHERE NOT EXISTS (
            SELECT 1 FROM judging_ledgerrecord r WHERE r.job = k.job AND r.type IN ('submitted', 'baseline')
                AND r.thread = s.thread_id AND r.data->>'submission' = k.submission_id::text)
        """,
    ),
)

_MOMENTS = {
    "SELECT r.thread, r.n, r.job, '{0}', r.{0}::text FROM judging_ledgerrecord r WHERE {1}(r.{0})": ["at"],
    "SELECT t.id, t.n, t.head, 'thread.{0}', t.{0}::text FROM judging_thread t WHERE {1}(t.{0})": ["last_at", "head_created_at"],
    "SELECT j.thread_id, j.n, j.id, 'job.{0}', j.{0}::text FROM judging_job j WHERE {1}(j.{0})": [
        "created_at", "claimed_at", "lease_until", "finished_at", "voided_at", "started_at",
    ],
    "SELECT j.thread_id, j.n, j.id, 'delivery.{0}', d.{0}::text FROM judging_delivery d JOIN judging_job j ON j.id = d.job_id "
    "WHERE {1}(d.{0})": [
        "claimed_at", "ended_at",
    ],
    "SELECT s.thread_id, 0, r.job_id, 'result.{0}', r.{0}::text FROM judging_result r JOIN judging_submission s ON s.id = r.submission_id "
    "WHERE {1}(r.{0})": ["created_at"],
}  # fmt: skip
"""Queries as the rules' above, for each of these columns, which takes the place of {0}; the condition that of {1}."""
_IMPOSSIBLE = "NOT tstzrange('0001-01-02', '9999-12-31') @> "


def impossible_moments() -> Iterator[Divergence]:
    """Moments that PostgreSQL can hold and nothing else can read: no clock showed them, so no row may have one."""
    with connection.cursor() as cursor:
        for query, columns in _MOMENTS.items():
            for column in columns:
                cursor.execute(query.format(column, _IMPOSSIBLE))
                for thread, n, job, named, found in cursor.fetchall():
                    difference = Difference(named, "a moment between the years 1 and 9999", found)
                    yield Divergence(Kind.TABLE, "a moment that no clock shows", Place(thread, n, job), difference)


def breaches(told: Collection[UUID]) -> Iterator[Divergence]:
    """Every breach of these rules that the current transaction sees; in the threads of `told` something was found already."""
    with connection.cursor() as cursor:
        for rule in CROSSINGS:
            cursor.execute(rule.query)
            for thread, n, job, column, found in cursor.fetchall():
                if rule.follows and thread in told:
                    continue
                difference = Difference(column, rule.logged, found)
                yield Divergence(Kind.TABLE, rule.words, Place(thread, n, job), difference)
