"""Jobs that were there before the ledger enter it as they stand, and are proved from then on."""

from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, transaction

from judging import queue
from judging.audit import audit
from judging.baseline import baseline
from judging.hold import hold_job
from judging.models import AuditResult, Job, LedgerRecord
from judging.records import row_document
from judging.replay import Kind
from tests.ledger.conftest import damage, diverged, equal, past_the_triggers
from tests.queue.conftest import claimed, report


@pytest.fixture
def imported(past):
    """The same tables without a history, as a migration from a system without a ledger leaves them."""
    with past_the_triggers() as cursor:
        cursor.execute("DELETE FROM judging_ledgerrecord")
        cursor.execute("UPDATE judging_job SET n = 0")
        cursor.execute("UPDATE judging_thread SET n = 0, tail = '', last_at = NULL")
    return past


def test_without_a_baseline_an_import_is_not_explained(imported):
    assert audit().result == AuditResult.DIVERGED


def test_every_imported_job_is_proved_from_its_baseline_on(imported, box_1, capsys):
    call_command("baseline")
    equal()
    report(claimed(box_1))
    report(still_held(imported.running))

    outcome = equal()

    assert capsys.readouterr().out == "5 jobs entered the ledger as they stand\n"
    assert outcome.records == 5 + 2 + 1


def still_held(job: Job) -> Any:
    """The hand-out that was under way when the ledger began."""
    return SimpleNamespace(row=SimpleNamespace(id=job.id, token=job.token, runner=job.runner_id))


def test_a_baseline_is_written_once(imported):
    assert baseline() == 5
    assert baseline() == 0
    assert LedgerRecord.objects.filter(type="baseline").count() == 5


def test_what_is_damaged_after_the_baseline_is_found(imported):
    baseline()
    damage("UPDATE judging_job SET releases = releases + 1 WHERE id = %s", imported.waiting.id)

    found = diverged()

    assert (found.kind, found.place.job, found.difference.column) == (Kind.TABLE, imported.waiting.id, "job.releases")


def test_what_came_before_the_baseline_is_not_judged(imported):
    baseline()
    damage("DELETE FROM judging_delivery WHERE job_id = %s AND fence = 1", imported.judged.id)
    damage("UPDATE judging_result SET verdict = 'Wrong answer' WHERE job_id = %s", imported.judged.id)

    equal()


def test_an_import_may_bring_the_row_and_its_baseline_together(imported):
    """The trigger on jobs accepts a row that comes with its record, in this order."""
    job = imported.waiting
    with past_the_triggers() as cursor:
        cursor.execute("DELETE FROM judging_job WHERE id = %s", [job.id])
    insert = (
        "INSERT INTO judging_ledgerrecord (thread, n, at, v, type, job, actor, data, after, hash) "
        "VALUES (%s, 1, now(), 1, 'baseline', %s, 'system', '{}', '', '')"
    )
    job.n = 1
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(insert, [job.thread_id, job.id])
        job.save(force_insert=True)

    assert Job.objects.filter(id=job.id).exists()


def test_a_baseline_tells_the_whole_row(hall):
    receipt = hall.submit()
    with past_the_triggers() as cursor:
        cursor.execute("DELETE FROM judging_ledgerrecord")
        cursor.execute("UPDATE judging_job SET n = 0")
        cursor.execute("UPDATE judging_thread SET n = 0, tail = '', last_at = NULL")
    baseline(actor="user:1")

    record = LedgerRecord.objects.get(job=receipt.job)
    with transaction.atomic():
        row = hold_job(receipt.job).jobs[receipt.job]
    assert (record.actor, record.data) == ("user:1", row_document(row))
    queue.cancel(receipt.job, by="user:1", reason="because")
    equal()
