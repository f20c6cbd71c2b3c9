"""What a transaction announces, seen from another connection."""

from uuid import uuid4

import psycopg
import pytest
from django.db import connection, transaction

from config.front.life import listen_parameters
from judging.wake import Everyone, Judged, Work, announce, attach
from judging.wake.topics import events_in

pytestmark = pytest.mark.django_db(transaction=True)

WORK = Work("standard-io@1", False, frozenset({"default", "finals"}))


@pytest.fixture
def heard():
    """What has arrived by notification so far."""
    with psycopg.connect(autocommit=True, **listen_parameters()) as listener:
        listener.execute("LISTEN assize")

        def events():
            arrived = listener.notifies(timeout=0.2)
            return [event for notification in arrived for event in events_in(notification.payload, origin="")]

        yield events


class Room:
    """A waiting room that keeps what it is told."""

    def __init__(self, *, gone=False):
        self.told = []
        self.gone = gone

    def tell(self, events):
        self.told += events
        return not self.gone


@pytest.fixture
def room():
    room = Room()
    attach(room)
    yield room
    attach(None)


def test_a_command_notifies_when_its_transaction_commits(heard):
    submission = uuid4()
    with transaction.atomic():
        announce(WORK, Judged(submission))
        assert heard() == []

    assert set(heard()) == {WORK, Judged(submission)}


def test_nothing_is_told_of_a_transaction_that_was_rolled_back(heard):
    with transaction.atomic():
        announce(WORK)
        transaction.set_rollback(True)

    assert heard() == []


def test_outside_a_transaction_it_is_told_at_once(heard):
    announce(Everyone())

    assert heard() == [Everyone()]


def test_announcing_nothing_tells_nothing(heard):
    announce()

    assert heard() == []


def test_a_server_process_tells_its_own_waiting_room_instead(heard, room):
    with transaction.atomic():
        announce(WORK)
        assert room.told == []

    assert room.told == [WORK]
    assert heard() == []


def test_a_server_process_that_is_ending_notifies(heard, room):
    room.gone = True

    announce(WORK)

    assert heard() == [WORK]


def test_a_wake_that_cannot_be_told_fails_nothing(monkeypatch, caplog):
    monkeypatch.setattr("judging.wake.announcing.NOTIFY", "SELECT no_such_function(%s)")

    with transaction.atomic():
        announce(WORK)

    assert "could not announce" in caplog.text
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        assert cursor.fetchone() == (1,)
