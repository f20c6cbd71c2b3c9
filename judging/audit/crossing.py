"""What must be unique or known in the whole ledger, whatever thread it stands in (I4, I5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.db import connection

from judging.replay import Difference, Divergence, Kind, Place


@dataclass(frozen=True, slots=True)
class Crossing:
    """One rule: what its breach is called, what should stand there, and a query of the breaches.

    The query answers thread, record, job, column and the value found; each breach once.
    """

    words: str
    logged: str
    query: str


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


def breaches() -> Iterator[Divergence]:
    """Every breach of these rules that the current transaction sees."""
    with connection.cursor() as cursor:
        for rule in CROSSINGS:
            cursor.execute(rule.query)
            for thread, n, job, column, found in cursor.fetchall():
                difference = Difference(column, rule.logged, found)
                yield Divergence(Kind.TABLE, rule.words, Place(thread, n, job), difference)
