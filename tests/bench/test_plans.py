"""What a claim reads, counted by the database itself: no clock, so nothing here depends on how busy a machine is."""

import json

import pytest
from django.db import connection, transaction

from judging import queue
from judging.bench.filler import fill
from judging.bench.load import FOREIGN, library, machines
from judging.queue.claim import CLAIM

LANES = 200
MOST_BUFFERS = 250
GROWTH = 1.2
EXPLAIN = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM judge_pick(%s, true)"
SCANS = "SELECT relname, seq_scan FROM pg_stat_xact_user_tables WHERE relname = ANY(%s) ORDER BY relname"
# Tables that grow with the queue, its past, or the number of runners.
LARGE = ["judging_thread", "judging_job", "judging_submission", "judging_submissionfile", "judging_ledgerrecord", "judging_delivery"]
# Plans are made for these calls of a connection, and kept from then on.
PLANNED = 8

pytestmark = pytest.mark.django_db(transaction=True)


def run(statement, *values):
    """A statement's rows."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall() if cursor.description else []


def test_what_a_claim_writes_has_at_most_one_check_a_table():
    """Each CHECK is read and compiled anew for each statement that writes: rules of a row belong into its table's one function.

    The result's and the runner's, which a report writes too, have two and four.
    """
    rows = run(
        "SELECT r.relname, count(c.oid) FROM pg_class r LEFT JOIN pg_constraint c ON c.conrelid = r.oid AND c.contype = 'c'"
        " WHERE r.relname = ANY(%s) GROUP BY r.relname",
        ["judging_job", "judging_thread", "judging_delivery", "judging_ledgerrecord", "judging_result", "runners_runner"],
    )

    found = dict(rows)
    assert (found.pop("judging_result"), found.pop("runners_runner")) == (2, 4)
    assert found == {"judging_job": 1, "judging_thread": 1, "judging_delivery": 0, "judging_ledgerrecord": 1}


def queued(count, *, foreign, pool="default", blocked=False):
    """A queue of `count` in 200 lanes, all of them foreign but the last, whose job is the youngest; the runner of that one."""
    connection.ensure_connection()
    into, runner = library(lanes=LANES), machines(1)[0].id
    run("UPDATE judging_lane SET problem_type = %s, pools = %s WHERE id = ANY(%s)", foreign, [pool], into.lanes[:-1])
    fill(connection.connection, into, count, lanes=into.lanes[:-1], start="2020-01-01", blocked=blocked)
    fill(connection.connection, into, 20, lanes=into.lanes[-1:], start="2021-01-01")
    grow_old()
    run(f"VACUUM ANALYZE judging_lane, {', '.join(LARGE)}")
    return runner


def grow_old():
    """A source for each submission, a past delivery and a record for each job: of an empty table every plan is a scan."""
    with transaction.atomic():
        run("SET LOCAL session_replication_role = replica")
        run(
            "INSERT INTO judging_submissionfile (submission_id, position, name, file_name, file_id)"
            " SELECT id, 0, 'source', 'main.py', gen_random_uuid() FROM judging_submission"
        )
        run(
            "INSERT INTO judging_delivery (token, job_id, fence, runner_id, claimed_at, ended_at, ending)"
            " SELECT gen_random_uuid(), id, 1000, gen_random_uuid(), now(), now(), 'released' FROM judging_job"
        )
        run(
            "INSERT INTO judging_ledgerrecord (thread, n, at, v, type, job, actor, data, after, hash)"
            " SELECT gen_random_uuid(), 1, now(), 1, 'heard', id, 'system', '{}', '', '' FROM judging_job"
        )


def buffers(runner):
    """How many of the database's pages a pick touches, once its plans are kept."""
    for _ in range(PLANNED):
        (answer, _thread) = run("SELECT * FROM judge_pick(%s, true)", runner)[0]
        assert answer == "ready"
    (told,) = run(EXPLAIN, runner)[0]
    plan = (json.loads(told) if isinstance(told, str) else told)[0]["Plan"]
    return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]


CASES = {
    "all of it mine": {"foreign": "bench@1"},
    "of a foreign type": {"foreign": FOREIGN},
    "of a foreign pool": {"foreign": "bench@1", "pool": "elsewhere"},
    "all blocked by siblings": {"foreign": "bench@1", "blocked": True},
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_claim_scans_no_table_that_grows(case):
    runner = queued(3_000, **case)

    with transaction.atomic():
        before = run(SCANS, LARGE)
        for _ in range(PLANNED):
            run(CLAIM, runner, 600, False)
        after = run(SCANS, LARGE)

    assert after == before


def test_a_whole_claim_and_its_report_scan_no_table_that_grows():
    runner = queued(3_000, foreign=FOREIGN)
    run("SELECT pg_stat_force_next_flush()")
    before = dict(run("SELECT relname, seq_scan FROM pg_stat_user_tables WHERE relname = ANY(%s)", LARGE))

    for _ in range(PLANNED):
        job = queue.claim(runner)
        assert isinstance(job, queue.ClaimedJob)
        row = job.row
        queue.renew(row.id, token=row.token, runner=runner, lease_seconds=900)
        queue.report(row.id, queue.Report(verdict="Accepted"), token=row.token, runner=runner)

    run("SELECT pg_stat_force_next_flush()")
    assert dict(run("SELECT relname, seq_scan FROM pg_stat_user_tables WHERE relname = ANY(%s)", LARGE)) == before


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_a_claim_reads_is_bounded_and_does_not_grow_with_the_queue(case):
    few = buffers(queued(10_000, **case))
    run("SET session_replication_role = replica")
    run("DELETE FROM judging_thread; DELETE FROM judging_job; DELETE FROM judging_submission; DELETE FROM judging_lane")
    run("SET session_replication_role = origin")
    many = buffers(queued(100_000, **case))

    assert many <= MOST_BUFFERS
    assert many <= max(few * GROWTH, few + 4)
