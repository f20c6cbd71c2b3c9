"""The queue's small hall, some history in it, and the means to damage what the triggers protect."""

import json
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction

from judging.audit import Outcome, Scope, audit
from judging.models import AuditResult, Job, LedgerRecord, Thread
from judging.records import Record
from tests.queue.conftest import ACCEPTED, BROKEN, Hall, box_1, box_2, claimed, hall, release, renew, report

__all__ = ["Hall", "box_1", "box_2", "hall"]


def equal(scope: Scope | None = None) -> Outcome:
    """An audit that must find everything equal."""
    outcome = audit(scope)
    assert outcome.result == AuditResult.EQUAL, outcome.words
    return outcome


def diverged(scope: Scope | None = None, **options) -> Any:
    """The one Divergence that an audit must find."""
    outcome = audit(scope, **options)
    assert outcome.result == AuditResult.DIVERGED
    assert outcome.diverged == 1, [str(divergence) for divergence in outcome.divergences]
    return outcome.divergences[0]


@contextmanager
def past_the_triggers():
    """What somebody with all rights over the database can do."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        yield cursor


def damage(sql: str, *values: object) -> None:
    """Run one statement past the triggers; it must touch something."""
    with past_the_triggers() as cursor:
        cursor.execute(sql, values)
        assert cursor.rowcount > 0, sql


@contextmanager
def altered(table: str, column: str, value: str, where: str, *values: object):
    """One column of one row holds something else for a while; `value` is SQL. Says what it was, and what it is."""
    with past_the_triggers() as cursor:
        cursor.execute(f"SELECT {column} FROM {table} WHERE {where}", values)
        [(before,)] = cursor.fetchall()
        cursor.execute(f"UPDATE {table} SET {column} = {value} WHERE {where} RETURNING {column}, ctid", values)
        [(after, place)] = cursor.fetchall()
    try:
        yield before, after
    finally:
        with past_the_triggers() as cursor:
            cursor.execute(f"UPDATE {table} SET {column} = %s WHERE ctid = %s", [before, place])
            assert cursor.rowcount == 1


@pytest.fixture
def unconstrained(transactional_db):
    """Take constraints away that forbid a damage: `unconstrained("judging_job", "job_holds")`."""
    taken: list[tuple[str, str, str]] = []

    def take(table: str, *names: str) -> None:
        with connection.cursor() as cursor:
            for name in names:
                cursor.execute("SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = %s", [name])
                taken.append((table, name, cursor.fetchone()[0]))
                cursor.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")

    yield take
    with past_the_triggers() as cursor:
        for table, name, definition in taken:
            cursor.execute(f"DELETE FROM {table}")
            cursor.execute(f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}")


def records(thread: UUID) -> list[Record]:
    """A thread's records as they are stored."""
    rows = LedgerRecord.objects.filter(thread=thread).order_by("n")
    return [
        Record(row.thread, row.n, row.at, row.v, row.type, row.job, row.actor, row.data, bytes(row.after), bytes(row.hash)) for row in rows
    ]


def rewrite(thread: UUID, change: Callable[[Record], Record]) -> None:
    """Change records and make every hash of the thread right again, the thread's own memory of them too."""
    tail = b""
    with past_the_triggers() as cursor:
        for record in records(thread):
            fresh = change(record)
            tail = fresh.chained(tail)
            cursor.execute(
                "UPDATE judging_ledgerrecord SET at = %s, type = %s, v = %s, data = %s, actor = %s, hash = %s WHERE thread = %s AND n = %s",
                [fresh.at, fresh.type, fresh.v, json.dumps(dict(fresh.data)), fresh.actor, tail, thread, fresh.n],
            )
        cursor.execute("UPDATE judging_thread SET tail = %s WHERE id = %s", [tail, thread])


@dataclass(frozen=True, slots=True)
class Past:
    """Jobs with a history: judged on the second hand-out, given up, running now, waiting now."""

    judged: Job
    failed: Job
    running: Job
    waiting: Job

    def thread(self, job: Job) -> Thread:
        return Thread.objects.get(id=job.thread_id)


@pytest.fixture
def past(hall, box_1, box_2) -> Past:
    jobs = []
    judged = hall.submit(key="k1", scope="s")
    release(claimed(box_1))
    held = claimed(box_2)
    renew(held, 700)
    report(held, ACCEPTED)
    jobs.append(judged.job)
    jobs.append(hall.submit().job)
    for _ in range(5):
        report(claimed(box_1), BROKEN)
    jobs.append(hall.submit().job)
    claimed(box_1)
    waiting = hall.submit()
    jobs.append(hall.rejudge(waiting.submission))
    return Past(*(Job.objects.get(id=job) for job in jobs))
