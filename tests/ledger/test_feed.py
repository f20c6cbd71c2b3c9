"""The feed across threads loses nothing, whatever commits when (ledger.md §5)."""

import threading
import time

import pytest
from django.db import connection, connections, transaction

from judging import feed
from judging.errors import MalformedRequest
from judging.feed import Cursor, CursorOutdated
from judging.models import FeedEpoch, LedgerRecord
from tests.ledger.conftest import damage, equal, past_the_triggers
from tests.queue.conftest import claimed, report


def everything(after: Cursor | None = None, **options) -> tuple[list[tuple], Cursor]:
    """All pages from a cursor on: which records, and the last cursor."""
    found = []
    while True:
        page = feed.read(after, **options)
        found += [(record.thread, record.n) for record in page.records]
        after = page.cursor
        if not page.records:
            return found, after


def settle() -> None:
    """Wait until nothing older than what is stored runs on this server, where other databases' work counts too."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_snapshot_xmin(pg_current_snapshot()) > max(xid) FROM judging_ledgerrecord WHERE xid < '1000000000'")
            if cursor.fetchone()[0]:
                return
        time.sleep(0.02)
    raise AssertionError("something on this server runs for ever")


def stored() -> set[tuple]:
    return set(LedgerRecord.objects.values_list("thread", "n"))


@pytest.fixture
def under_way(hall):
    """A submission whose transaction is still open on another connection: `finish()` commits it, `undo()` does not."""
    feed.read()
    entered, leave = threading.Event(), threading.Event()
    outcome = {"commit": True}

    def late() -> None:
        try:
            with transaction.atomic():
                with connection.cursor() as cursor:
                    cursor.execute(
                        "INSERT INTO judging_ledgerrecord (thread, n, at, v, type, job, actor, data, after, hash) "
                        "VALUES (gen_random_uuid(), 1, now(), 1, 'submitted', gen_random_uuid(), 'x', '{}', '', '')"
                    )
                entered.set()
                leave.wait(20)
                transaction.set_rollback(not outcome["commit"])
        finally:
            connections.close_all()

    thread = threading.Thread(target=late)
    thread.start()
    assert entered.wait(20)

    def end(*, commit: bool) -> None:
        outcome["commit"] = commit
        leave.set()
        thread.join(20)

    yield end
    end(commit=False)


def test_every_record_comes_once_and_each_thread_in_its_order(past):
    settle()
    found, _ = everything(limit=3)

    assert len(found) == len(set(found))
    assert set(found) == stored()
    for thread in {thread for thread, _ in found}:
        assert [n for name, n in found if name == thread] == sorted(n for name, n in found if name == thread)


def test_a_record_is_read_as_it_was_written(past):
    settle()
    record = feed.read(limit=1).records[0]
    row = LedgerRecord.objects.get(thread=record.thread, n=record.n)

    assert (record.at, record.data, record.hash) == (row.at, row.data, bytes(row.hash))


def test_a_transaction_that_commits_late_is_never_passed_over(hall, under_way):
    hall.submit()
    early, cursor = everything()
    assert early == []

    under_way(commit=True)
    hall.submit()
    settle()

    late, _ = everything(cursor)
    assert len(late) == 3
    assert set(late) == stored()


def test_one_that_is_rolled_back_holds_nothing_up_afterwards(hall, under_way):
    hall.submit()
    _, cursor = everything()
    under_way(commit=False)
    settle()

    found, _ = everything(cursor)

    assert set(found) == stored()


def test_a_reader_by_ids_would_have_lost_the_late_one(hall, under_way):
    """Why there is a feed at all: the late record has the lower id."""
    hall.submit()
    last = LedgerRecord.objects.latest("id").id
    under_way(commit=True)

    assert LedgerRecord.objects.filter(id__lt=last).count() == 1


def test_an_empty_page_moves_the_cursor_on(past):
    settle()
    _, cursor = everything()

    assert feed.read(cursor).records == ()
    assert feed.read(cursor, lanes=[]).records == ()
    assert Cursor.read(str(cursor)) == cursor


def test_only_the_lanes_that_were_asked_for_come(hall, box_1):
    hall.submit()
    other = hall.other_lane()
    receipt = hall.submit(lane=other)
    settle()

    found, cursor = everything(lanes=[other])
    report(claimed(box_1))
    report(claimed(box_1))
    settle()
    more, _ = everything(cursor, lanes=[other])

    thread = LedgerRecord.objects.get(job=receipt.job, n=1).thread
    assert found == [(thread, 1)]
    assert more == [(thread, 2), (thread, 3)]


def test_after_a_restore_old_cursors_are_refused_and_everything_is_read_again(past, hall):
    settle()
    before, cursor = everything()
    # Another server: its transaction numbers are below those that came with the dump.
    damage("UPDATE judging_feedepoch SET server = 'another/1'")
    damage("UPDATE judging_ledgerrecord SET xid = (xid::text::bigint + 1000000000)::text::xid8")
    hall.submit()

    with pytest.raises(CursorOutdated):
        feed.read(cursor)
    settle()
    found, cursor = everything(limit=4)
    hall.submit()
    settle()
    more, _ = everything(cursor)

    assert FeedEpoch.objects.count() == 2
    assert set(before) <= set(found)
    assert set(found) | set(more) == stored()
    assert not set(found) & set(more)


@pytest.mark.parametrize("text", ["", "1", "1.2", "1.2.x", "1.-2.3", "1.2.3.4", f"1.2.{10**20}", "1.2.³"])
def test_what_is_no_cursor_is_malformed(text):
    with pytest.raises(MalformedRequest):
        Cursor.read(text)


def test_the_transaction_number_is_no_part_of_what_was_sealed(past):
    with past_the_triggers() as cursor:
        cursor.execute("UPDATE judging_ledgerrecord SET xid = '7'")

    equal()
