"""What the database's own functions write of a move is, byte for byte, what the rules in Python say of it."""

from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from judging import queue
from judging.models import Job, LedgerRecord, Thread
from judging.queue import ClaimedJob, Report
from judging.queue.report import _at_once
from judging.records import Record, row_digest
from judging.rows import JobRow, Move, apply, column_of
from judging.rules import Head, head_of
from judging.states import JobState, RecordType
from tests.ledger.conftest import equal, past_the_triggers
from tests.queue.conftest import ACCEPTED, claimed, release, report, token_of

pytestmark = pytest.mark.django_db(transaction=True)

BEGIN, END = datetime.fromisoformat("1970-01-01"), datetime.fromisoformat("9999-12-31")
MOMENTS = st.datetimes(BEGIN, END, timezones=st.just(UTC))
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


def told(job) -> list[Record]:
    """The records of a job's thread, in order."""
    fields = ("thread", "n", "at", "v", "type", "job", "actor", "data", "after", "hash")
    thread = Job.objects.values_list("thread_id").get(id=job)
    rows = LedgerRecord.objects.filter(thread=thread[0]).order_by("n").values_list(*fields)
    return [Record._make([*row[:8], bytes(row[8]), bytes(row[9])]) for row in rows]


def by_the_rules(records: list[Record]) -> None:
    """Each record's digest and hash are what the rules in Python make of the records before it."""
    rows: dict[UUID, JobRow] = {}
    tail = b""
    for record in records:
        row = rows[record.job] = apply(rows.get(record.job), Move(RecordType(record.type), record.job, record.at, record.data, record.n))
        assert record.after == row_digest(row), f"{record.type}, record {record.n}"
        assert record.hash == record.chained(tail), f"{record.type}, record {record.n}"
        tail = record.hash
    [thread] = Thread.objects.filter(id=records[0].thread)
    head = head_of(rows.values())
    assert (thread.n, bytes(thread.tail), thread.last_at) == (records[-1].n, tail, records[-1].at)
    assert (thread.head, thread.head_priority, thread.head_created_at, thread.running) == vars_of(head)
    assert thread.claimable == head.claimable


def vars_of(head: Head) -> tuple[object, ...]:
    """A head's values as its thread's columns hold them."""
    return (head.job, head.priority, head.created_at, head.running)


NUMBERS = st.integers(0, 32767)
QUEUED = st.fixed_dictionaries(
    dict.fromkeys(("priority", "releases", "refunds", "timeout"), NUMBERS)
    | dict.fromkeys(("urgent", "admitted", "marked"), st.booleans())
    | {"attempt": st.integers(1, 32767), "created_at": MOMENTS, "outside_id": st.none() | TEXTS.map(lambda text: text[:200])}
    | {"reason": st.none() | TEXTS, "closed_at_seq": st.none() | NUMBERS}
)
"""What a job that waits may hold, beside its hand-outs."""


def row_of_job(job: UUID) -> JobRow:
    """The row as the table holds it now."""
    found = Job.objects.get(id=job)
    values = {name: getattr(found, column_of(name)) for name in JobRow._fields}
    return JobRow(**values | {"state": JobState(found.state)})


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(QUEUED, st.tuples(st.integers(0, 9), st.integers(1, 9), st.integers(0, 9)))
def test_whatever_a_job_holds_its_lease_and_its_report_are_written_by_the_rules(hall, box_1, columns, counts):
    """Both say a row's form in one format, for the one state it can be in."""
    receipt, (handed, left, lost) = hall.submit(), counts
    columns |= {"deliveries": handed, "cap": handed + left, "fence": handed + lost}
    edits = ", ".join(f"{name} = %s" for name in columns)
    with past_the_triggers() as cursor:
        cursor.execute(f"UPDATE judging_job SET {edits} WHERE id = %s", [*columns.values(), receipt.job])
    before = row_of_job(receipt.job)

    job = claimed(box_1)
    held = row_of_job(receipt.job)
    report(job)

    leased, reported = told(receipt.job)[-2:]
    for record, was, left_behind in ((leased, before, held), (reported, held, row_of_job(receipt.job))):
        row = apply(was, Move(RecordType(record.type), record.job, record.at, record.data, record.n))
        assert (row, row_digest(row)) == (left_behind, record.after), record.type
    assert leased.hash == leased.chained(told(receipt.job)[-3].hash)
    assert reported.hash == reported.chained(leased.hash)


def test_a_lease_is_written_by_the_rules(hall, box_1):
    hall.submit()
    row = claimed(box_1, lease_seconds=77.5).row

    by_the_rules(told(row.id))
    assert row.granted == 77
    assert (row.state, row.runner, row.deliveries, row.fence, row.heard, row.channel) == ("running", box_1, 1, 1, False, False)


def test_a_lease_on_the_channel_is_written_by_the_rules(hall, box_1):
    hall.submit()
    job = queue.claim_on_channel(box_1)
    assert isinstance(job, ClaimedJob)

    by_the_rules(told(job.row.id))
    assert job.row.channel


def test_a_lease_of_a_job_that_came_back_is_written_by_the_rules(hall, box_1, box_2):
    hall.submit()
    odd = Report(infrastructure_failure=True, failure_reason='the checker said "né\\"\n\t\x07\x7f\u2028 😀')
    report(claimed(box_1), odd)
    release(claimed(box_2))
    row = claimed(box_1).row

    by_the_rules(told(row.id))
    assert (row.deliveries, row.fence, row.reason) == (2, 3, None)


def test_a_lease_leaves_the_next_in_its_thread_at_the_head(hall, box_1):
    first = hall.submit()
    hall.rejudge(first.submission)
    urgent = hall.rejudge(first.submission, urgent=True)
    row = claimed(box_1).row
    ordinary = hall.rejudge(first.submission)

    assert row.id == urgent
    by_the_rules(told(row.id))
    assert Thread.objects.get(id=row.thread).head == ordinary


def test_what_a_claim_answers_is_what_the_table_holds(hall, box_1):
    hall.submit()
    row = claimed(box_1).row

    found = Job.objects.get(id=row.id)
    assert row == JobRow(**{name: getattr(found, column_of(name)) for name in JobRow._fields})


def test_a_report_is_written_by_the_rules(hall, box_1):
    hall.submit()
    job = claimed(box_1)
    report(job, Report(verdict='Accepted "\\ né\x07 😀', score=1e22, max_score=-0.0, runner_version="v\x7f", extra='{"a":1}', props="{}"))

    by_the_rules(told(job.row.id))
    equal()


def test_a_report_on_the_channel_is_written_by_the_rules(hall, box_1):
    hall.submit()
    job = queue.claim_on_channel(box_1)
    assert isinstance(job, ClaimedJob)
    queue.start(job.row.id, token=token_of(job))
    report(job, Report(verdict="Accepted", failure_reason="x" * 9000))

    by_the_rules(told(job.row.id))
    equal()


def test_a_report_leaves_the_next_in_its_thread_claimable(hall, box_1):
    first = hall.submit()
    job = claimed(box_1)
    again = hall.rejudge(first.submission)
    report(job)

    by_the_rules(told(job.row.id))
    assert claimed(box_1).row.id == again
    equal()


def test_a_report_of_nobody_that_holds_the_job_is_not_taken_at_once(hall, box_1, box_2):
    hall.submit()
    job = claimed(box_1)
    assert _at_once(job.row.id, ACCEPTED, token=job.row.token, runner=box_2) is None
    assert _at_once(job.row.id, ACCEPTED, token=uuid4(), runner=box_1) is None
    assert _at_once(uuid4(), ACCEPTED, token=job.row.token, runner=box_1) is None
    assert [record.type for record in told(job.row.id)] == ["submitted", "leased"]

    assert _at_once(job.row.id, ACCEPTED, token=job.row.token, runner=box_1) is not None
    assert _at_once(job.row.id, ACCEPTED, token=job.row.token, runner=box_1) is None
    by_the_rules(told(job.row.id))
