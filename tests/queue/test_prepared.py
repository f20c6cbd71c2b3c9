"""What every call of a runner asks is parsed once a connection, but not where a pooler lends another server each time."""

from uuid import uuid4

import pytest
from django.db import connection

from config import settings as configured
from judging import queue
from judging.errors import LeaseStale
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
