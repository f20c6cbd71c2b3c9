"""The application may read and insert, nothing else, whoever it is and whatever it uses (ledger.md §2)."""

from contextlib import contextmanager

import pytest
from django.db import DatabaseError, Error, connection, transaction
from django.db.models import F

from judging.models import Job, LedgerRecord, Thread, ThreadSeal
from judging.replay import Kind
from tests.ledger.conftest import damage, diverged, equal

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
        "MERGE INTO judging_ledgerrecord r USING judging_ledgerrecord s ON r.id = s.id WHEN MATCHED THEN UPDATE SET actor = 'x'",
        "MERGE INTO judging_ledgerrecord r USING judging_ledgerrecord s ON r.id = s.id WHEN MATCHED THEN DELETE",
        "WITH gone AS (DELETE FROM ONLY judging_ledgerrecord RETURNING 1) SELECT count(*) FROM gone",
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
    for statement in (
        "SET session_replication_role = replica",
        "ALTER TABLE judging_ledgerrecord DISABLE TRIGGER ALL",
        "ALTER TABLE judging_ledgerrecord DISABLE TRIGGER ledger_rows_stay",
        "DROP TRIGGER ledger_rows_stay ON judging_ledgerrecord",
        "CREATE OR REPLACE FUNCTION judge_ledger_is_append_only() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
        "CREATE TEMP TABLE child () INHERITS (judging_ledgerrecord)",
        "ALTER TABLE judging_ledgerrecord RENAME TO elsewhere",
        "CREATE RULE quiet AS ON DELETE TO judging_ledgerrecord DO INSTEAD NOTHING",
        "COPY judging_ledgerrecord FROM PROGRAM 'true'",
    ):
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


def test_a_table_that_hides_the_ledger_lets_no_job_change(application):
    """Whoever may run any SQL as the application could otherwise deceive the triggers of its own session."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE judging_ledgerrecord AS SELECT * FROM public.judging_ledgerrecord")
        cursor.execute("UPDATE judging_ledgerrecord SET n = n + 100 WHERE job = %s", [application.judged.id])
        cursor.execute("SELECT max(n) FROM judging_ledgerrecord WHERE job = %s", [application.judged.id])
        n = cursor.fetchone()[0]
        with pytest.raises(DatabaseError, match="changes without a ledger record"):
            cursor.execute("UPDATE judging_job SET reason = 'because', n = %s WHERE id = %s", [n, application.judged.id])
        cursor.execute("DROP TABLE pg_temp.judging_ledgerrecord")

    equal()


@pytest.fixture
def agreeable(application):
    """A schema of the application's own, first in its session, where any two numbers are equal and none is below another."""
    with connection.cursor() as cursor:
        cursor.execute("RESET ROLE; CREATE SCHEMA agreeable AUTHORIZATION assize_application; SET ROLE assize_application")
        for kind in ("bigint", "integer"):
            for name, answer in (("=", "true"), ("<=", "false")):
                function = f"agreeable.{kind}_{answer}"
                cursor.execute(f"CREATE FUNCTION {function}({kind}, {kind}) RETURNS boolean LANGUAGE sql AS 'SELECT {answer}'")
                cursor.execute(f"CREATE OPERATOR agreeable.{name} (LEFTARG = {kind}, RIGHTARG = {kind}, FUNCTION = {function})")
        cursor.execute("SET search_path = agreeable, pg_catalog, public")
    yield application
    with connection.cursor() as cursor:
        cursor.execute("RESET search_path")


def test_operators_of_ones_own_let_no_job_change(agreeable):
    """The triggers and rules mean what PostgreSQL means, whatever a session puts before it."""
    with refused(NEEDS_RECORD), connection.cursor() as cursor:
        cursor.execute("UPDATE judging_job SET reason = 'because'")


def test_operators_of_ones_own_let_no_rule_of_a_row_be_broken(agreeable):
    with refused("23514"), connection.cursor() as cursor:
        cursor.execute("UPDATE judging_thread SET head_priority = NULL WHERE head IS NOT NULL")


def test_records_that_the_role_of_the_application_invents_are_named(application):
    """It may insert: what it inserts must still follow from what was there."""
    thread = application.judged.thread_id
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO judging_ledgerrecord (thread, n, at, v, type, job, actor, data, after, hash) "
            "SELECT thread, n + 1, at, v, type, job, 'user:666', data, after, hash FROM judging_ledgerrecord "
            "WHERE thread = %s ORDER BY n DESC LIMIT 1",
            [thread],
        )

    found = diverged()

    assert (found.kind, found.place.thread) == (Kind.CHAIN, thread)
