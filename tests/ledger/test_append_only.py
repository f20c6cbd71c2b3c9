"""The application may read and insert, nothing else, whoever it is and whatever it uses (ledger.md §2)."""

from contextlib import contextmanager

import pytest
from django.db import Error, connection, transaction
from django.db.models import F

from judging.models import Job, LedgerRecord, Thread, ThreadSeal
from tests.ledger.conftest import damage, equal

APPEND_ONLY = "AZ002"
NEEDS_RECORD = "AZ003"


@contextmanager
def refused(code: str):
    """What the database refuses with this error, and undoes."""
    with pytest.raises(Error) as met, transaction.atomic():
        yield
    assert getattr(met.value.__cause__, "sqlstate", None) == code, met.value


@pytest.fixture
def application(past):
    """The application's own role: every right on every table, but no superuser."""
    with connection.cursor() as cursor:
        cursor.execute("DROP ROLE IF EXISTS assize_application")
        cursor.execute("CREATE ROLE assize_application NOSUPERUSER")
        cursor.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO assize_application")
        cursor.execute("GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO assize_application")
        cursor.execute("SET ROLE assize_application")
    yield past
    with connection.cursor() as cursor:
        cursor.execute("RESET ROLE")
        cursor.execute("DROP OWNED BY assize_application")
        cursor.execute("DROP ROLE assize_application")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE judging_ledgerrecord SET actor = 'user:666'",
        "UPDATE judging_ledgerrecord SET id = id",
        "DELETE FROM judging_ledgerrecord",
        "DELETE FROM judging_ledgerrecord WHERE n = (SELECT max(n) FROM judging_ledgerrecord)",
        "TRUNCATE judging_ledgerrecord",
        "INSERT INTO judging_ledgerrecord SELECT * FROM judging_ledgerrecord ON CONFLICT (id) DO UPDATE SET actor = 'x'",
    ],
)
def test_the_role_of_the_application_cannot_change_the_ledger(application, statement):
    with refused(APPEND_ONLY), connection.cursor() as cursor:
        cursor.execute(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE judging_job SET reason = 'because'",
        "UPDATE judging_job SET n = n + 1",
        "UPDATE judging_job SET n = 1, priority = 0",
        "DELETE FROM judging_delivery; DELETE FROM judging_job WHERE state <> 'completed'",
        "TRUNCATE judging_job CASCADE",
    ],
)
def test_the_role_of_the_application_cannot_change_a_job_without_its_record(application, statement):
    with refused(NEEDS_RECORD), connection.cursor() as cursor:
        cursor.execute(statement)


def test_the_role_of_the_application_cannot_switch_the_triggers_off(application):
    for statement in ("SET session_replication_role = replica", "ALTER TABLE judging_ledgerrecord DISABLE TRIGGER ALL"):
        with refused("42501"), connection.cursor() as cursor:
            cursor.execute(statement)


def test_a_seal_stays_as_it_was_left(application):
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO judging_threadseal (thread, n, tail) VALUES (gen_random_uuid(), 1, 'x')")
    for statement in ("UPDATE judging_threadseal SET n = 2", "DELETE FROM judging_threadseal", "TRUNCATE judging_threadseal"):
        with refused(APPEND_ONLY), connection.cursor() as cursor:
            cursor.execute(statement)


def test_the_models_cannot_change_the_ledger(past):
    record = LedgerRecord.objects.earliest("id")
    record.actor = "user:666"
    with refused(APPEND_ONLY):
        record.save()
    with refused(APPEND_ONLY):
        LedgerRecord.objects.update(actor="user:666")
    with refused(APPEND_ONLY):
        LedgerRecord.objects.filter(thread=record.thread).delete()
    with refused(APPEND_ONLY):
        record.delete()
    equal()


def test_the_models_cannot_change_a_job_without_its_record(past):
    past.judged.reason = "because"
    with refused(NEEDS_RECORD):
        past.judged.save()
    with refused(NEEDS_RECORD):
        Job.objects.filter(id=past.waiting.id).update(priority=0)
    with refused(NEEDS_RECORD):
        # The number of a record that tells of another job of the same thread.
        Job.objects.filter(id=past.waiting.id).update(n=F("n") + 1)
    with refused(NEEDS_RECORD):
        past.waiting.delete()
    with refused(NEEDS_RECORD):
        Job.objects.create(
            thread_id=past.judged.thread_id,
            submission_id=past.judged.submission_id,
            lane_id=past.judged.lane_id,
            version_id=past.judged.version_id,
            n=1,
            attempt=9,
            priority=1,
            cap=5,
            created_at=past.judged.created_at,
        )
    equal()


def test_a_thread_that_is_deleted_leaves_where_its_ledger_ended(hall):
    receipt = hall.submit()
    job = Job.objects.get(id=receipt.job)
    thread = Thread.objects.get(id=job.thread_id)
    for table in ("judging_job", "judging_submission"):
        damage(f"DELETE FROM {table} WHERE thread_id = %s", thread.id)

    Thread.objects.filter(id=thread.id).delete()

    seal = ThreadSeal.objects.get()
    assert (seal.thread, seal.n, bytes(seal.tail)) == (thread.id, thread.n, bytes(thread.tail))
