"""`manage.py reap`, as cron runs it."""

import re
import threading
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection

from judging import files, queue
from judging.audit import audit
from judging.hold import hold_jobs_unless_locked
from judging.models import AuditResult, Job, StoredFile
from tests import factories

LINE = re.compile(r"(\d+) returned, (\d+) given up, (\d+) lapsed, .*, (\d+) bad, (\d+) uploads collected\n")


@pytest.fixture(autouse=True)
def storage(settings, tmp_path):
    """A file storage of the test's own."""
    kept = {**settings.STORAGES["default"], "OPTIONS": {"location": tmp_path}}
    settings.STORAGES = {**settings.STORAGES, "default": kept}


def reap() -> tuple[int, ...]:
    """Run it; the numbers of its line: returned, given up, lapsed, bad, collected."""
    said = StringIO()
    call_command("reap", stdout=said)
    line = LINE.fullmatch(said.getvalue())
    assert line, said.getvalue()
    return tuple(int(number) for number in line.groups())


def test_an_idle_sweep_says_so(transactional_db):
    assert reap() == (0, 0, 0, 0, 0)


def test_lapsed_leases_are_counted_by_what_became_of_them(clock):
    box = factories.box()
    factories.submission(factories.work(cap=1))
    factories.submission()
    for _ in range(2):
        job = factories.claimed(box)
        queue.progress(job.row.id, token=job.row.token, runner=box.id)
    clock.forward(seconds=601)

    assert reap() == (1, 1, 2, 0, 0)
    assert set(Job.objects.values_list("state", flat=True)) == {"queued", "failed"}


def test_uploads_that_nobody_attached_go(clock):
    files.store(iter([b"a log"]), name="log", uploaded_by=factories.box().id, most_bytes=10)
    clock.forward(hours=25)

    assert reap() == (0, 0, 0, 0, 1)
    assert not StoredFile.objects.exists()


def test_a_bad_row_fails_the_run_after_the_others_were_swept(clock, monkeypatch):
    box = factories.box()
    bad, good = factories.submission(), factories.submission()
    for _ in range(2):
        factories.claimed(box)
    clock.forward(seconds=601)

    def break_one(jobs):
        if bad.job in jobs:
            raise ZeroDivisionError
        return hold_jobs_unless_locked(jobs)

    monkeypatch.setattr("judging.queue.reap.hold_jobs_unless_locked", break_one)
    said = StringIO()

    with pytest.raises(CommandError, match="1 rows could not be swept"):
        call_command("reap", stdout=said)

    assert said.getvalue().startswith("1 returned, 0 given up, 1 lapsed")
    assert Job.objects.get(id=good.job).state == "queued"
    assert Job.objects.get(id=bad.job).state == "running"


def test_more_than_are_held_at_once_are_all_swept(clock, monkeypatch):
    monkeypatch.setattr("judging.queue.reap.TOGETHER", 3)
    box, work = factories.box(), factories.work()
    for _ in range(7):
        factories.submission(work)
    for _ in range(7):
        factories.claimed(box)
    clock.forward(seconds=601)

    assert reap() == (7, 0, 7, 0, 0)
    assert audit().result == AuditResult.EQUAL


def test_a_database_that_is_gone_fails_the_run(transactional_db, monkeypatch):
    def gone(*_):
        raise OperationalError("the server closed the connection unexpectedly")

    connection.close()
    with monkeypatch.context() as patched:
        patched.setattr("django.db.backends.base.base.BaseDatabaseWrapper.ensure_connection", gone)
        with pytest.raises(CommandError, match="could not be swept"):
            call_command("reap", stdout=StringIO())


def test_many_at_once_handle_each_row_once(clock):
    box = factories.box()
    work = factories.work()
    for _ in range(6):
        factories.submission(work)
    for _ in range(6):
        factories.claimed(box)
    clock.forward(seconds=601)
    begun, lines = threading.Barrier(4), []

    def run():
        begun.wait()
        lines.append(reap())
        connection.close()

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [sum(numbers) for numbers in zip(*lines, strict=True)][:4] == [6, 0, 6, 0]
    assert set(Job.objects.values_list("state", "refunds")) == {("queued", 1)}
