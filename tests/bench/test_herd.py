"""A decision about work wakes whoever may take it, not the thousands who may not."""

import sys

import pytest

from judging import queue
from judging.models import Maintenance
from judging.wake import Everyone, Work, attach
from tests.factories import submission, work

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def heard():
    """What a server process of this database would be told."""

    class Room:
        def __init__(self):
            self.events = []

        def tell(self, events):
            self.events += events
            return True

    room = Room()
    attach(room)
    yield room.events
    attach(None)


@pytest.fixture
def lane(heard):
    """A lane with work in it; its arrival has been heard."""
    made = work()
    submission(made)
    heard.clear()
    return made.lane


def test_a_retag_tells_of_the_work_by_its_new_pools(lane, heard):
    queue.reroute([lane.id], pools=["room-b"])

    assert heard == [Work(lane.problem_type, False, frozenset({"room-b"}))]


def test_a_resumed_lane_tells_of_its_work(lane, heard):
    queue.pause(lane.id, reason="look again")
    heard.clear()

    queue.resume(lane.id)

    assert heard == [Work(lane.problem_type, False, frozenset({"default"}))]


def test_a_paused_lane_is_not_told_of_when_it_is_retagged(lane, heard):
    queue.pause(lane.id, reason="look again")
    heard.clear()

    queue.reroute([lane.id], pools=["room-b"])

    assert heard == []


def test_reopening_tells_of_the_work_there_is(lane, heard):
    queue.switch_maintenance(Maintenance.CLOSED, reason="moving house")
    heard.clear()

    queue.switch_maintenance(Maintenance.OPEN)

    assert heard == [Work(lane.problem_type, False, frozenset({"default"}))]


def test_closing_tells_everyone(lane, heard):
    queue.switch_maintenance(Maintenance.CLOSED, reason="moving house")

    assert heard == [Everyone()]


def test_past_so_many_kinds_everyone_is_told(lane, heard, monkeypatch):
    monkeypatch.setattr(sys.modules["judging.queue.reroute"], "_KINDS", 0)

    queue.reroute([lane.id], pools=["room-b"])

    assert heard == [Everyone()]
