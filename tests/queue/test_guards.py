"""What holds when a rule in the code is forgotten: constraints, guarded writes, one transaction a verb (queue.md §2, §3)."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Any

import psycopg
import pytest
import time_machine
from django.db import DatabaseError, IntegrityError, connection, connections, transaction

from judging import queue
from judging.hold import hold_job, hold_thread
from judging.models import Job, LedgerRecord, Thread
from judging.queue import reap
from judging.states import RecordType
from tests.locks import until_waiting
from tests.queue.conftest import OPERATOR, claimed, renew, report, stored

LEASE = "token = gen_random_uuid(), runner_id = gen_random_uuid(), claimed_at = now(), lease_until = now(), granted = 60"
COUNTS = ("attempt", "cap", "priority", "releases", "refunds", "timeout", "deliveries")
CLOCK = import_module("runners.migrations.0002_clock").CLOCK


def edited(statement: str, *values: Any) -> None:
    """Write to the tables past every trigger and every line of the code, as a careless migration might."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(statement, values)


def named(refused: BaseException) -> tuple[str | None, str | None]:
    """Which constraint of which table the server says was broken."""
    cause = refused.__cause__
    assert isinstance(cause, psycopg.Error)
    return cause.diag.constraint_name, cause.diag.table_name


@pytest.mark.parametrize(
    ("edit", "constraint"),
    [
        ("state = 'running', deliveries = 1, fence = 9", "job_lease_while_running"),
        ("token = gen_random_uuid()", "job_lease_while_running"),
        ("heard = true", "job_lease_while_running"),
        ("finished_at = now()", "job_finished_has_time"),
        ("state = 'cancelled'", "job_finished_has_time"),
        ("state = 'failed', finished_at = now(), reason = NULL", "job_failed_has_reason"),
        ("deliveries = cap + 1, fence = 99", "job_counts_hold"),
        ("deliveries = 1, fence = 0", "job_counts_hold"),
        ("state = 'superseded', finished_at = now()", "job_superseded_names_its_heir"),
        ("voided_at = now()", "job_voided_was_completed"),
        ("state = 'lost'", "job_state_known"),
        ("channel = true", "job_channel_while_running"),
        ("started_at = now()", "job_channel_while_running"),
        ("lost = gen_random_uuid()", "job_lost_has_failed"),
        ("outcome = gen_random_uuid()", "job_outcome_has_sender"),
        (f"state = 'running', {LEASE}", "job_running_is_delivered"),
        ("state = 'completed', finished_at = now(), replaced_by = gen_random_uuid()", "job_superseded_names_its_heir"),
        *((f"{column} = -1", "job_counts_hold") for column in COUNTS),
        (f"state = 'running', deliveries = 1, fence = 1, {LEASE.replace('60', '-1')}", "job_counts_hold"),
    ],
)
def test_the_database_refuses_a_job_that_cannot_be(hall, edit, constraint):
    receipt = hall.submit()

    with pytest.raises(IntegrityError, match=constraint) as refused:
        edited(f"UPDATE judging_job SET {edit} WHERE id = %s", receipt.job)
    assert named(refused.value) == (constraint, "judging_job")


@pytest.mark.parametrize(
    ("edit", "constraint"),
    [
        ("claimable = false", "thread_claimable_is_free_head"),
        ("running = gen_random_uuid()", "thread_claimable_is_free_head"),
        ("head = NULL, head_priority = NULL, head_created_at = NULL", "thread_claimable_is_free_head"),
        ("head = NULL, claimable = false", "thread_head_whole"),
        ("head_priority = NULL", "thread_head_whole"),
        ("head_priority = -1", "thread_head_whole"),
    ],
)
def test_the_database_refuses_a_thread_that_cannot_be(hall, edit, constraint):
    hall.submit()

    with pytest.raises(IntegrityError, match=constraint) as refused:
        edited(f"UPDATE judging_thread SET {edit}")
    assert named(refused.value) == (constraint, "judging_thread")


@pytest.mark.parametrize(
    ("edit", "constraint"),
    [
        (
            f"state = 'running', {LEASE}, deliveries = 1, fence = 1",
            "job_one_started_per_thread",
        ),
        ("deliveries = 1, fence = 1", "job_one_started_per_thread"),
        ("admitted = true", "job_one_started_per_thread"),
        ("urgent = true", "job_one_urgent_waits_per_thread"),
    ],
)
def test_the_database_refuses_two_of_a_thread_where_one_may_be(hall, edit, constraint):
    for _ in range(2):
        hall.submit(thread_key="t")

    with pytest.raises(IntegrityError, match=constraint):
        edited(f"UPDATE judging_job SET {edit}")


def test_the_database_refuses_one_token_twice(hall, box_1):
    receipts = [hall.submit(), hall.submit()]
    held = [claimed(box_1) for _ in receipts]

    with pytest.raises(IntegrityError, match="job_token_once"):
        edited("UPDATE judging_job SET token = %s WHERE id = %s", held[0].row.token, held[1].row.id)


def test_a_row_that_is_not_what_it_was_under_the_lock_is_not_written_over(hall, box_1):
    """The guard of the one writer, reached by somebody who kept a hold for too long."""
    hall.submit()
    job = claimed(box_1).row
    with transaction.atomic():
        kept = hold_job(job.id)
    queue.give_back(job.id, by=OPERATOR, reason="box 1 is on fire")
    before = stored(job.id).n
    kept.thread = hold_thread_row(job.thread)
    kept.move(job.id, RecordType.CANCELLED, actor=OPERATOR, reason="too late")

    with pytest.raises(DatabaseError, match="not what it was under the lock"), transaction.atomic():
        kept.write()
    assert (stored(job.id).state, stored(job.id).n) == ("queued", before)


def hold_thread_row(thread):
    """The thread as it stands now: only the job of the kept hold is of yesterday."""
    with transaction.atomic():
        return hold_thread(thread).thread


def test_a_verb_nests_in_no_other_transaction(hall, box_1):
    """What it answered must be stored, whatever its caller does next."""
    receipt = hall.submit()

    for verb in (
        lambda: queue.claim(box_1),
        lambda: queue.cancel(receipt.job, by=OPERATOR, reason="no"),
        hall.submit,
        lambda: hall.rejudge(receipt.submission),
    ):
        with transaction.atomic(), pytest.raises(RuntimeError, match="durable"):
            verb()


def test_a_sweep_that_looked_before_a_renewal_leaves_the_lease(hall, box_1, clock, monkeypatch):
    """What it found is looked at again under the lock (queue.md §5)."""
    hall.submit()
    job = claimed(box_1)
    clock.forward(seconds=601)
    looked = reap._lapsed

    def look_then_be_overtaken():
        found = looked()
        renew(job)
        return found

    monkeypatch.setattr(reap, "_lapsed", look_then_be_overtaken)
    swept = queue.sweep()

    assert (swept.lapsed, swept.bad) == (0, 0)
    assert stored(job.row.id).token == job.row.token


def test_one_bad_row_never_stops_the_sweep(hall, box_1, clock, monkeypatch):
    receipts = [hall.submit() for _ in range(3)]
    for _ in receipts:
        claimed(box_1)
    clock.forward(seconds=601)
    expire = reap.expire_running

    def expire_all_but_the_second(held, *, actor):
        if receipts[1].job in held.jobs:
            raise ZeroDivisionError
        return expire(held, actor=actor)

    monkeypatch.setattr(reap, "expire_running", expire_all_but_the_second)
    swept = queue.sweep()

    assert (swept.lapsed, swept.bad) == (2, 1)
    assert [stored(receipt.job).state for receipt in receipts] == ["queued", "running", "queued"]


def test_the_shipped_clock_goes_on_within_a_transaction(transactional_db):
    """Not the transaction's start: a writer that waited for a lock would stamp before the record in front of it."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(CLOCK.replace("judge_now", "judge_now_as_shipped"))
        cursor.execute("SELECT judge_now_as_shipped() - clock_timestamp(), judge_now_as_shipped() FROM pg_sleep(0.01)")
        off, first = cursor.fetchone()
        cursor.execute("SELECT judge_now_as_shipped() FROM pg_sleep(0.01)")
        later = cursor.fetchone()[0]
        transaction.set_rollback(True)

    assert abs(off.total_seconds()) < 1
    assert later > first


@pytest.mark.parametrize("verb", ["cancelled", "reported"])
def test_a_verb_that_waited_for_its_thread_reads_the_clock_afterwards(hall, box_1, clock, verb):
    hall.submit()
    job = claimed(box_1)

    def end():
        try:
            report(job) if verb == "reported" else queue.cancel(job.row.id, by=OPERATOR, reason="no")
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            list(Thread.objects.select_for_update(no_key=True))
            waits = pool.submit(end)
            until_waiting(1)
            released_at = clock.now()
        waits.result(30)

    assert stored(job.row.id).finished_at >= released_at
    assert LedgerRecord.objects.get(type=verb).at >= released_at


@pytest.mark.parametrize("wrong", [timedelta(hours=-30), timedelta(hours=30)])
def test_the_clock_of_a_web_node_decides_nothing(hall, box_1, box_2, clock, wrong):
    """The database is the clock wherever time decides who owns something (queue.md §5)."""
    with time_machine.travel(datetime.now(UTC) + wrong):
        receipt = hall.submit()
        job = claimed(box_1)
        assert queue.sweep().lapsed == 0
        assert abs((renew(job, 900).until - clock.now()).total_seconds() - 900) < 5
        clock.forward(seconds=901)
        assert claimed(box_2).row.id == receipt.job

    assert all(abs((record.at - clock.now()).total_seconds()) < 1000 for record in LedgerRecord.objects.all())


def test_the_clock_never_runs_back_within_a_thread(hall, box_1, clock):
    """A fail-over to a server whose clock is behind: records keep their order all the same."""
    hall.submit()
    clock.forward(seconds=500)
    job = claimed(box_1)
    clock.reset()
    renew(job)
    queue.cancel(job.row.id, by=OPERATOR, reason="no")

    moments = list(LedgerRecord.objects.order_by("n").values_list("at", flat=True))
    assert moments == sorted(moments)
    finished, began = Job.objects.get().finished_at, job.row.claimed_at
    assert finished is not None
    assert began is not None
    assert finished >= began


def test_the_clock_never_runs_back_where_a_verb_is_one_statement(hall, box_1, clock):
    """A claim and a report read the clock themselves."""
    receipt = hall.submit()
    clock.forward(seconds=500)
    hall.rejudge(receipt.submission)
    clock.reset()
    job = claimed(box_1)
    clock.forward(seconds=500)
    hall.rejudge(receipt.submission)
    clock.reset()
    report(job)

    moments = list(LedgerRecord.objects.order_by("n").values_list("at", flat=True))
    assert moments == sorted(moments)
    finished, began = stored(job.row.id).finished_at, job.row.claimed_at
    assert finished is not None
    assert began is not None
    assert finished >= began
