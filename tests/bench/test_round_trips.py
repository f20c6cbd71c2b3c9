"""How often the calls runners make all day ask the database: each question is a round trip that holds a thread."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from judging import queue
from judging.queue import Report
from tests.factories import box, claimed, submission

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def asked():
    """The statements of a block, each by its first function, table or word."""
    return lambda: CaptureQueriesContext(connection)


def functions(context):
    """What a block asked: the functions of the queue by name, transactions by their words, the rest as `other`."""
    names = ("judge_standing", "judge_claim", "judge_report", "judge_held", "judge_write", "pg_notify", "BEGIN", "COMMIT")
    return [next((name for name in names if name in query["sql"]), query["sql"].strip()[:60]) for query in context.captured_queries]


def test_a_claim_is_one_statement(asked):
    submission()
    machine = box()

    with asked() as context:
        queue.claim(machine.id)

    assert functions(context) == ["judge_claim"]


def test_a_claim_in_vain_asks_once(asked):
    machine = box()

    with asked() as context:
        queue.claim(machine.id)

    assert functions(context) == ["judge_claim"]


def test_a_renewal_reads_once_and_writes_once(asked):
    submission()
    machine = box()
    row = claimed(machine).row

    with asked() as context:
        queue.renew(row.id, token=row.token, runner=machine.id, lease_seconds=3000)

    assert functions(context) == ["BEGIN", "judge_held", "judge_write", "COMMIT"]


def test_a_report_is_one_statement(asked):
    submission()
    machine = box()
    row = claimed(machine).row

    with asked() as context:
        queue.report(row.id, Report(verdict="Accepted"), token=row.token, runner=machine.id)

    # Outside a server the word to those who wait is a statement of its own; a server gathers many into one.
    assert functions(context) == ["judge_report", "pg_notify"]


def test_a_runners_call_asks_who_it_is_and_whether_the_doors_are_open_at_once(asked, client):
    submission()
    machine = box()

    with asked() as context:
        answer = client.post("/api/v1/runner/jobs/claim", data="{}", content_type="application/json", headers=machine.bearer)

    assert answer.status_code == 200
    # The other one notes, every half minute, that the runner was seen.
    assert [name for name in functions(context) if not name.startswith("UPDATE")] == [
        "judge_standing",
        "judge_claim",
    ]
