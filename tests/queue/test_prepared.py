"""What every call of a runner asks is parsed once a connection, but not where a pooler lends another server each time."""

from uuid import uuid4

import psycopg
import pytest
from django.db import connection

from config import settings as configured
from judging import queue
from judging.errors import LeaseStale, StorageBusy
from judging.queue import Report
from tests.queue.conftest import claimed, report

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def fresh():
    """A connection that has asked nothing yet, and what its server has been told to keep."""
    connection.close()
    connection.ensure_connection()
    yield connection.connection
    connection.close()


def kept(line) -> list[str]:
    """The functions whose statements this connection's server keeps, in the order they came."""
    found = line.execute("SELECT statement FROM pg_prepared_statements ORDER BY prepare_time").fetchall()
    return [statement.split("judge_")[1].split("(")[0] for (statement,) in found]


def a_life(hall, runner) -> None:
    """A job's life: claimed, renewed, reported."""
    hall.submit()
    job = claimed(runner)
    queue.renew(job.row.id, token=job.row.token, runner=runner, lease_seconds=900)
    report(job, Report(verdict="Accepted", score=1.0))


def test_the_hot_statements_are_prepared_once(hall, box_1, fresh):
    a_life(hall, box_1)
    # One is kept again for values of other types: a hold by thread or by job, a write with an id or none.
    once = kept(fresh)

    for _ in range(3):
        a_life(hall, box_1)

    assert set(once) == {"held", "write", "claim", "report"}
    assert kept(fresh) == once


def test_after_a_refusal_the_statements_are_parsed_again(hall, box_1, fresh):
    hall.submit()
    job = claimed(box_1)
    assert "claim" in kept(fresh)

    with pytest.raises(LeaseStale):
        queue.renew(job.row.id, token=uuid4(), runner=box_1, lease_seconds=900)
    assert kept(fresh) == []

    report(job)
    assert kept(fresh) == ["report"]


def test_a_sweep_leaves_no_statement_for_each_number_of_leases(hall, box_1, fresh, clock):
    def swept(leases):
        for _ in range(leases):
            hall.submit()
        for _ in range(leases):
            claimed(box_1)
        clock.forward(hours=2)
        assert queue.sweep().lapsed == leases
        clock.forward(hours=1)
        while isinstance(job := queue.claim(box_1), queue.ClaimedJob):
            report(job)
        return len(kept(fresh))

    first = swept(1)

    assert [swept(leases) for leases in (2, 3, 4)] == [first] * 3


def test_behind_a_pooler_nothing_is_prepared(hall, box_1, fresh):
    fresh.prepare_threshold = None

    a_life(hall, box_1)

    assert kept(fresh) == []


@pytest.mark.parametrize(("pooler", "threshold"), [("", 5), ("1", None)])
def test_the_pooler_is_told_of_in_the_environment(monkeypatch, pooler, threshold):
    monkeypatch.setenv("ASSIZE_DB_POOLER", pooler)

    assert configured._database("host=/nowhere dbname=assize")["OPTIONS"]["prepare_threshold"] == threshold


@pytest.mark.parametrize("how", [b"DEALLOCATE ALL", b"DISCARD ALL"])
def test_a_server_that_forgot_its_statements_costs_one_call_at_most(hall, box_1, fresh, how):
    """A pooler resets a connection past psycopg, which goes on using the names."""
    a_life(hall, box_1)
    hall.submit()
    fresh.pgconn.exec_(how)

    # A claim is its own transaction and was tried again; what is part of a transaction is for the caller to try again.
    job = claimed(box_1)
    lease = {"token": job.row.token, "runner": box_1, "lease_seconds": 900}
    queue.renew(job.row.id, **lease)
    fresh.pgconn.exec_(how)
    with pytest.raises(StorageBusy):
        queue.renew(job.row.id, **lease)
    queue.renew(job.row.id, **lease)
    a_life(hall, box_1)


def test_a_function_that_answers_another_type_by_now_fails_no_call(hall, box_1, fresh):
    a_life(hall, box_1)
    definition = fresh.execute("SELECT pg_get_functiondef('judge_claim'::regproc)").fetchone()[0]
    assert definition.count("package_sha256 character varying") == 1
    signature = "judge_claim(uuid, integer, boolean)"
    try:
        with psycopg.connect(fresh.info.dsn, autocommit=True) as other, other.transaction():
            other.execute(f"DROP FUNCTION {signature}")
            other.execute(definition.replace("package_sha256 character varying", "package_sha256 text"))

        a_life(hall, box_1)
    finally:
        with psycopg.connect(fresh.info.dsn, autocommit=True) as other, other.transaction():
            other.execute(f"DROP FUNCTION {signature}")
            other.execute(definition)
