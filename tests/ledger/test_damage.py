"""Damage of every kind, planted past the triggers, is found: what kind, in which thread, at which record, in which column."""

import pytest
from django.db import connection

from judging import queue
from judging.audit import audit
from judging.models import AuditResult, Delivery, Job, Lane, LedgerRecord, Result, Thread, Ticket
from judging.queue import Report
from judging.replay import Difference, Kind
from tests.ledger.conftest import altered, damage, diverged, equal, past_the_triggers, records, rewrite
from tests.queue.conftest import claimed, report

NOBODY = "'00000000-0000-0000-0000-000000000001'"
LONG_AGO = "'2026-01-01T00:00:00+00:00'"
NAMES = {"runner_id": "runner", "submission_id": "submission", "version_id": "version", "lane_id": "lane"}
JOB_COLUMNS = [
    # Whose job, the column, and the value put there.
    ("judged", "state", "'superseded'"),
    ("judged", "finished_at", LONG_AGO),
    ("judged", "fence", "9"),
    ("judged", "deliveries", "2"),
    ("judged", "releases", "2"),
    ("judged", "refunds", "2"),
    ("judged", "attempt", "7"),
    ("judged", "reason", "'because'"),
    ("judged", "admitted", "false"),
    ("judged", "marked", "true"),
    ("judged", "voided_at", LONG_AGO),
    ("judged", "closed_at_seq", "99"),
    ("judged", "replaced_by", NOBODY),
    ("judged", "created_at", LONG_AGO),
    ("judged", "submission_id", NOBODY),
    ("judged", "version_id", NOBODY),
    ("judged", "lane_id", NOBODY),
    ("failed", "reason", "'Given up after 4 deliveries'"),
    ("running", "token", NOBODY),
    ("running", "runner_id", NOBODY),
    ("running", "lease_until", "lease_until + interval '1 microsecond'"),
    ("running", "claimed_at", LONG_AGO),
    ("running", "granted", "601"),
    ("running", "heard", "true"),
    ("running", "outside_id", "'x'"),
    ("waiting", "priority", "0"),
    ("waiting", "urgent", "true"),
    ("waiting", "cap", "9"),
    ("waiting", "n", "1"),
]


def test_a_ledger_with_every_kind_of_history_is_equal(past):
    outcome = equal()

    assert (outcome.threads, outcome.skipped) == (4, 0)
    assert outcome.records == LedgerRecord.objects.count()


def test_a_changed_column_of_a_job_is_named_with_both_values(past, unconstrained, subtests):
    unconstrained("judging_job", "job_holds")
    for whose, column, value in JOB_COLUMNS:
        job = getattr(past, whose)
        with subtests.test(f"{whose}.{column}"), altered("judging_job", column, value, "id = %s", job.id) as (before, after):
            found = diverged()

            assert (found.kind, found.place.thread, found.place.job) == (Kind.TABLE, job.thread_id, job.id)
            assert found.place.n == job.n
            assert found.difference == Difference(f"job.{NAMES.get(column) or column}", before, after)
    equal()


def test_a_job_whose_row_is_gone_is_missed(past):
    damage("DELETE FROM judging_job WHERE id = %s", past.waiting.id)

    found = diverged()

    assert (found.kind, found.place.job, found.difference.column) == (Kind.TABLE, past.waiting.id, "job.id")
    assert (found.difference.logged, found.difference.found) == (past.waiting.id, None)


def test_a_job_that_the_ledger_never_tells_of_is_told(past):
    invented = "00000000-0000-0000-0000-0000000000aa"
    columns = ", ".join(str(field.column) for field in Job._meta.fields if field.column not in {"id", "attempt"})
    damage(
        f"INSERT INTO judging_job (id, attempt, {columns}) SELECT %s, 50, {columns} FROM judging_job WHERE id = %s",
        invented,
        past.judged.id,
    )

    found = diverged()

    assert (found.kind, found.place.thread, str(found.place.job)) == (Kind.TABLE, past.judged.thread_id, invented)
    assert (found.difference.column, found.difference.logged) == ("job.id", None)


DELIVERY_COLUMNS = [
    ("runner_id", NOBODY),
    ("claimed_at", LONG_AGO),
    ("ended_at", "ended_at + interval '1 microsecond'"),
    ("ending", "'expired'"),
    ("fence", "17"),
]


def test_a_changed_delivery_is_named(past, subtests):
    token = Delivery.objects.get(job=past.judged, fence=1).token
    for column, value in DELIVERY_COLUMNS:
        changed = altered("judging_delivery", column, value, "token = %s", token)
        with subtests.test(column), changed as (before, after):
            found = diverged()

            assert (found.kind, found.place.job) == (Kind.TABLE, past.judged.id)
            assert found.difference == Difference(f"delivery.{column.removesuffix('_id')}", before, after)


def test_a_delivery_that_is_gone_or_invented_is_told(past):
    token = Delivery.objects.get(job=past.judged, fence=1).token
    damage("UPDATE judging_delivery SET token = '00000000-0000-0000-0000-000000000001' WHERE token = %s", token)

    found = diverged()
    assert (found.kind, found.difference.column, found.difference.logged) == (Kind.TABLE, "delivery.token", token)

    damage("DELETE FROM judging_delivery WHERE job_id = %s AND fence = 1", past.judged.id)
    assert diverged().difference.found is None


RESULT_COLUMNS = [
    ("verdict", "'Wrong answer'", "verdict"),
    ("score", "99", "score"),
    ("max_score", "1", "max_score"),
    ("extra", "'{}'", "documents"),
    ("props", "'{}'", "documents"),
    ("runner_version", "'9'", "documents"),
    ("failure_reason", "'none'", "documents"),
    ("runner_id", NOBODY, "runner"),
    ("token", NOBODY, "token"),
    ("attempt", "5", "attempt"),
    ("created_at", LONG_AGO, "created_at"),
]


def test_a_changed_result_is_named(past, subtests):
    for column, value, named in RESULT_COLUMNS:
        with subtests.test(column), altered("judging_result", column, value, "job_id = %s", past.judged.id):
            found = diverged()

            assert (found.kind, found.place.job, found.place.n) == (Kind.TABLE, past.judged.id, past.judged.n)
            assert found.difference.column == f"result.{named}"
            assert found.difference.logged != found.difference.found


def test_a_result_that_is_gone_or_invented_is_told(past):
    damage("UPDATE judging_result SET job_id = %s WHERE job_id = %s", past.waiting.id, past.judged.id)
    damage(
        "UPDATE judging_result SET submission_id = %s WHERE job_id = %s",
        past.waiting.submission_id,
        past.waiting.id,
    )

    outcome = audit()

    token = Result.objects.get(job=past.waiting.id).token
    assert {divergence.place.job: divergence.difference for divergence in outcome.divergences} == {
        past.judged.id: Difference("result.token", token, None),
        past.waiting.id: Difference("result.token", None, token),
    }


HEAD_COLUMNS = [
    ("head", "NULL"),
    ("head_priority", "4"),
    ("head_created_at", LONG_AGO),
    ("running", NOBODY),
    ("claimable", "false"),
]


def test_a_threads_head_that_does_not_follow_from_its_jobs_is_named(past, unconstrained, subtests):
    unconstrained("judging_thread", "thread_holds")
    thread = past.waiting.thread_id
    for column, value in HEAD_COLUMNS:
        with subtests.test(column), altered("judging_thread", column, value, "id = %s", thread) as (before, after):
            found = diverged()

            assert (found.kind, found.place.thread) == (Kind.TABLE, thread)
            assert found.difference == Difference(f"thread.{column}", before, after)


RECORD_EDITS = [
    ("actor", "'user:666'"),
    ("at", "at + interval '1 microsecond'"),
    ("type", "'heard'"),
    ("job", "gen_random_uuid()"),
    ("v", "2"),
    ("after", "sha256('x')"),
    ("hash", "sha256('x')"),
]


def test_an_edited_record_is_found_where_it_stands(past, subtests):
    place = (past.judged.thread_id, 3)
    for column, value in RECORD_EDITS:
        id_ = LedgerRecord.objects.get(thread=place[0], n=place[1]).id
        with subtests.test(column), altered("judging_ledgerrecord", column, value, "id = %s", id_):
            found = diverged()

            assert (found.kind, found.place.thread, found.place.n) == (Kind.CHAIN, *place)
    damage('UPDATE judging_ledgerrecord SET data = data || \'{"reason": "x"}\' WHERE thread = %s AND n = %s', *place)
    assert (diverged().kind, diverged().place.n) == (Kind.CHAIN, 3)


def test_a_deleted_record_is_a_gap(past):
    damage("DELETE FROM judging_ledgerrecord WHERE thread = %s AND n = 3", past.judged.thread_id)

    found = diverged()

    assert (found.kind, found.place.thread, found.place.n) == (Kind.GAP, past.judged.thread_id, 3)
    assert (found.difference.logged, found.difference.found) == (3, 4)


def test_swapped_records_are_found_at_the_first(past):
    thread = past.judged.thread_id
    with past_the_triggers() as cursor:
        for old, new in ((3, 1000), (4, 3), (1000, 4)):
            cursor.execute("UPDATE judging_ledgerrecord SET n = %s WHERE thread = %s AND n = %s", [new, thread, old])

    found = diverged()

    assert (found.kind, found.place.thread, found.place.n) == (Kind.CHAIN, thread, 3)


def test_a_record_moved_to_another_thread_is_missed_in_the_one_and_out_of_place_in_the_other(past):
    thread, other = past.judged.thread_id, past.waiting.thread_id
    damage("UPDATE judging_ledgerrecord SET thread = %s, n = 99 WHERE thread = %s AND n = 3", other, thread)

    outcome = audit()

    assert {(found.kind, found.place.thread) for found in outcome.divergences} == {(Kind.GAP, thread), (Kind.GAP, other)}


def test_a_ledger_whose_last_record_was_cut_off_ends_before_its_thread_does(past):
    thread = past.thread(past.judged)
    damage("DELETE FROM judging_ledgerrecord WHERE thread = %s AND n = %s", thread.id, thread.n)

    found = diverged()

    assert (found.kind, found.place.thread, found.place.n) == (Kind.TAIL, thread.id, thread.n)
    assert (found.difference.column, found.difference.logged, found.difference.found) == ("thread.n", thread.n - 1, thread.n)


TAIL_EDITS = [("tail", "sha256('x')"), ("n", "n + 1"), ("last_at", "last_at + interval '1 second'")]


def test_an_altered_tail_is_named(past, subtests):
    thread = past.thread(past.judged)
    for column, value in TAIL_EDITS:
        with subtests.test(column), altered("judging_thread", column, value, "id = %s", thread.id):
            found = diverged()

            logged = bytes(thread.tail).hex() if column == "tail" else getattr(thread, column)
            assert (found.kind, found.place.thread) == (Kind.TAIL, thread.id)
            assert (found.difference.column, found.difference.logged) == (f"thread.{column}", logged)


def test_a_chain_made_right_after_an_edit_leaves_another_row_than_was_sealed(past):
    thread = past.judged.thread_id
    rewrite(thread, lambda record: record._replace(data=dict(record.data) | {"seconds": 3600}) if record.type == "renewed" else record)

    found = diverged()

    renewal = LedgerRecord.objects.get(thread=thread, type="renewed")
    assert (found.kind, found.place.thread, found.place.n) == (Kind.DIGEST, thread, renewal.n)


def test_a_chain_made_right_after_a_verdict_was_changed_contradicts_the_result(past):
    thread, worse = past.judged.thread_id, {"verdict": "Wrong answer"}
    rewrite(thread, lambda record: record._replace(data=dict(record.data) | worse) if record.type == "reported" else record)

    found = diverged()

    assert (found.kind, found.place.job) == (Kind.TABLE, past.judged.id)
    assert (found.difference.column, found.difference.logged, found.difference.found) == ("result.verdict", "Wrong answer", "Accepted")


def test_a_chain_made_right_after_time_was_turned_back_runs_backwards(past):
    thread = past.judged.thread_id
    first = records(thread)[0]
    rewrite(thread, lambda record: record._replace(at=first.at.replace(year=2020)) if record.n == 4 else record)

    found = diverged()

    assert (found.kind, found.place.n, found.difference.column) == (Kind.CLOCK, 4, "at")


def test_a_chain_made_right_after_an_expiry_was_moved_before_its_deadline_is_illegal(past, clock):
    clock.forward(seconds=601)
    queue.sweep()
    expired = LedgerRecord.objects.get(type="expired")
    rewrite(expired.thread, lambda record: record._replace(at=records(expired.thread)[-2].at) if record.type == "expired" else record)

    found = diverged()

    assert (found.kind, found.place.n, found.words) == (Kind.ILLEGAL, expired.n, "expired before its deadline")


def test_one_token_handed_out_twice_is_found_across_threads(past):
    token = str(past.running.token)
    other = past.judged.thread_id
    first = next(record.n for record in records(other) if record.type == "leased")
    rewrite(other, lambda record: record._replace(data=dict(record.data) | {"token": token}) if record.n == first else record)

    outcome = audit()

    crossing = [found for found in outcome.divergences if found.words == "one lease token was handed out twice"]
    assert [(found.difference, found.kind) for found in crossing] == [(Difference("data.token", "a token of its own", token), Kind.TABLE)]


def test_one_job_opened_in_two_threads_is_found(past):
    damage("UPDATE judging_ledgerrecord SET job = %s WHERE thread = %s AND n = 1", past.judged.id, past.failed.thread_id)

    words = {found.words for found in audit().divergences}

    assert "one job was opened in two threads" in words


def test_a_receipt_for_a_job_that_never_was_is_found(past):
    damage("UPDATE judging_ticket SET job = gen_random_uuid() WHERE key = 'k1'")

    found = diverged()

    assert (found.words, found.difference.column) == ("a receipt names a job that was not opened for its submission", "ticket.job")
    assert str(Ticket.objects.get(key="k1").job) == found.difference.found


def test_two_receipts_under_one_key_are_found(past, unconstrained):
    unconstrained("judging_ticket", "ticket_key_once")
    damage(
        "INSERT INTO judging_ticket (organization, scope, key, content, submission_id, job, created_at) "
        "SELECT organization, scope, key, content, submission_id, job, created_at FROM judging_ticket WHERE key = 'k1'"
    )

    assert diverged().words == "one idempotency key has two receipts"


def test_a_removed_thread_leaves_a_seal_that_its_ledger_is_held_against(past, clock):
    thread = past.judged.thread_id
    clock.forward(days=1)
    queue.prune(before=clock.now(), lanes=[past.judged.lane_id])
    equal()
    damage("DELETE FROM judging_result WHERE job_id = %s", past.judged.id)
    damage("DELETE FROM judging_submission WHERE thread_id = %s", thread)
    Thread.objects.filter(id=thread).delete()

    # A result that is gone is missed; the ledger itself still ends where the thread's row said.
    assert (diverged().kind, diverged().difference.column) == (Kind.TABLE, "result.token")
    with altered("judging_threadseal", "n", "n + 1", "thread = %s", thread):
        assert (diverged().kind, diverged().difference.column) == (Kind.TAIL, "thread.n")
    damage("DELETE FROM judging_threadseal")
    assert (diverged().kind, diverged().difference.column) == (Kind.TAIL, "thread.id")


def test_every_damaged_thread_is_told_once_and_the_first_is_named_in_the_summary(past):
    damage("UPDATE judging_job SET fence = fence + 1 WHERE state <> 'superseded'")

    outcome = audit()

    assert (outcome.result, outcome.diverged, outcome.threads) == (AuditResult.DIVERGED, 4, 4)
    assert len({found.place.thread for found in outcome.divergences}) == 4
    assert outcome.words == f"{outcome.divergences[0]} (3 more)"


def test_canonical_form_survives_the_round_trip_through_the_database(hall, box_1):
    hall.submit()
    job = claimed(box_1)
    strange = 'tab\t, nul \x00, lone \ud800, quote ", back\\slash, line\u2028sep, \U0001f600, e\u0301, \x7f\x1b'
    said = Report(verdict=strange[:60], score=0.1 + 0.2, max_score=-0.0, extra='{"x":1e400}', failure_reason=strange)
    report(job, said)
    queue.rejudge(job.row.submission, by="user:1", reason=strange)

    equal()


# Damage that ends a reader, moves things elsewhere, or looks like nothing.

NO_READER_TAKES = [
    ("judging_ledgerrecord", "data", "(repeat('[', 4000) || repeat(']', 4000))::jsonb", Kind.CHAIN),
    ("judging_ledgerrecord", "data", "data || jsonb_build_object('granted', ('1' || repeat('0', 20000))::numeric)", Kind.CHAIN),
    ("judging_ledgerrecord", "data", "'[]'", Kind.CHAIN),
    ("judging_ledgerrecord", "data", "'5'", Kind.CHAIN),
    ("judging_ledgerrecord", "at", "'infinity'", Kind.TABLE),
    ("judging_ledgerrecord", "at", "'4000-01-01 BC'", Kind.TABLE),
]


@pytest.mark.parametrize(("table", "column", "value", "kind"), NO_READER_TAKES)
def test_a_record_that_no_reader_takes_is_named_like_any_other(past, table, column, value, kind):
    damage(f"UPDATE {table} SET {column} = {value} WHERE job = %s AND n = 2", past.judged.id)

    found = diverged()

    assert (found.kind, found.place.thread, found.place.n, found.place.job) == (kind, past.judged.thread_id, 2, past.judged.id)


def test_a_moment_that_cannot_be_read_is_named_in_each_table(past, subtests):
    places = [
        ("judging_job", "created_at", "id = %s", past.judged.id, "job.created_at"),
        ("judging_thread", "last_at", "id = %s", past.judged.thread_id, "thread.last_at"),
        ("judging_delivery", "claimed_at", "job_id = %s AND fence = 1", past.judged.id, "delivery.claimed_at"),
        ("judging_result", "created_at", "job_id = %s", past.judged.id, "result.created_at"),
    ]
    for table, column, where, value, named in places:
        damage(f"UPDATE {table} SET {column} = '-infinity' WHERE {where}", value)
        with subtests.test(named):
            outcome = audit()

            [difference] = {found.difference for found in outcome.divergences}
            assert difference is not None
            assert (difference.column, difference.found) == (named, "-infinity")
            assert outcome.cut_short
        damage(f"UPDATE {table} SET {column} = '2026-01-01' WHERE {where}", value)


def test_a_thread_moved_to_another_lane_is_named_with_both(past, hall):
    other = Lane.objects.create(problem_id=Lane.objects.get(id=hall.lane).problem_id, problem_type="x@1", pools=["default"])
    damage("UPDATE judging_thread SET lane_id = %s WHERE id = %s", other.id, past.judged.thread_id)

    found = diverged()

    assert (found.kind, found.place.thread, found.difference) == (
        Kind.TABLE, past.judged.thread_id, Difference("thread.lane", past.judged.lane_id, other.id),
    )  # fmt: skip


def test_a_job_moved_to_another_thread_is_missed_in_the_one_and_told_in_the_other(past):
    damage("UPDATE judging_job SET thread_id = %s WHERE id = %s", past.waiting.thread_id, past.failed.id)

    found = {(each.place.thread, each.words) for each in audit().divergences}

    assert (past.failed.thread_id, "the row is missing") in found
    assert (past.waiting.thread_id, "a row that the ledger never tells of") in found


def test_a_thread_whose_row_is_gone_without_a_seal_is_missed(past):
    damage("DELETE FROM judging_thread WHERE id = %s", past.judged.thread_id)

    found = diverged()

    assert (found.kind, found.difference) == (Kind.TAIL, Difference("thread.id", past.judged.thread_id, None))


@pytest.mark.parametrize(
    "change", ["DELETE FROM judging_submission WHERE id = %s", "UPDATE judging_submission SET thread_id = %s WHERE id = %s"]
)
def test_a_submission_that_is_gone_or_in_another_thread_is_told_though_it_has_no_result(past, change):
    other = [past.judged.thread_id] if "SET" in change else []
    damage("DELETE FROM judging_ticket")
    damage(change, *other, past.running.submission_id)

    found = diverged()

    assert (found.kind, found.place.job, found.difference.column) == (Kind.TABLE, past.running.id, "submission.thread")
    assert found.difference.found == (str(other[0]) if other else None)


@pytest.mark.parametrize("column", ["reason", "outside_id"])
def test_an_empty_text_is_not_nothing(past, column):
    damage(f"UPDATE judging_job SET {column} = '' WHERE id = %s", past.judged.id)

    assert diverged().difference == Difference(f"job.{column}", None, "")


def test_a_delivery_of_a_job_that_never_was_is_told(past):
    # No damage: the application's role may do this.
    with connection.cursor() as cursor:
        values = [past.judged.thread_id, past.judged.id]
        cursor.execute("UPDATE judging_delivery SET job_id = %s WHERE job_id = %s AND fence = 1", values)

    found = {(each.place.job, each.words) for each in audit().divergences}

    assert found == {(past.judged.thread_id, "a row that the ledger never tells of"), (past.judged.id, "the row is missing")}


def test_a_row_that_was_reclaimed_and_put_back_is_told(past, clock):
    clock.forward(days=1)
    with past_the_triggers() as cursor:
        cursor.execute("CREATE TEMP TABLE kept AS SELECT * FROM judging_job WHERE id = %s", [past.judged.id])
    queue.prune(before=clock.now(), lanes=[past.judged.lane_id])
    equal()
    damage("INSERT INTO judging_job SELECT * FROM kept")

    found = diverged()

    assert (found.words, found.difference) == (
        "the row is still there though it was reclaimed",
        Difference("job.id", None, past.judged.id),
    )
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE kept")


def test_another_time_zone_of_the_server_or_the_connection_changes_nothing(past):
    with connection.cursor() as cursor:
        cursor.execute("SET TIME ZONE 'Asia/Kathmandu'")
    try:
        equal()
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SET TIME ZONE 'UTC'")


def test_who_acted_cannot_be_forged_where_only_the_holder_may_act(past):
    rewrite(past.judged.thread_id, lambda record: record._replace(actor="user:1") if record.type == "reported" else record)

    found = diverged()

    assert (found.kind, found.words) == (Kind.ILLEGAL, "reported by user:1, who does not hold it")
