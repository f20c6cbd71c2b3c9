"""What travels between processes."""

import json
from uuid import uuid4

from hypothesis import given
from hypothesis import strategies as st

from judging.wake import Concerns, Event, Everyone, Fits, Judged, Look, Work
from judging.wake.topics import PAYLOAD_BYTES, TOPICS_A_WAITER, events_in, payloads, topics_of

TAGS = st.text(max_size=80)
WORK = st.builds(Work, TAGS, st.booleans(), st.frozensets(TAGS, min_size=1, max_size=16))
NEWS = st.one_of(WORK, st.builds(Judged, st.uuids()), st.builds(Concerns, st.uuids()))
EVENTS: st.SearchStrategy[set[Event]] = st.sets(NEWS, max_size=40)


@given(EVENTS)
def test_what_is_told_is_what_is_heard(events):
    told = payloads(events, origin="here")

    heard = {event for payload in told for event in events_in(payload, origin="there")}

    assert heard == events or heard == {Everyone()}
    assert all(len(payload.encode()) <= PAYLOAD_BYTES for payload in told)


def test_few_events_are_told_exactly_in_one_payload():
    events: set[Event] = {Work("standard-io@1", False, frozenset({"default"})), Judged(uuid4())}

    (payload,) = payloads(events, origin="here")

    assert set(events_in(payload, origin="there")) == events


def test_many_verdicts_are_told_in_several_payloads():
    events = {Judged(uuid4()) for _ in range(500)}

    told = payloads(events, origin="here")

    assert 1 < len(told) <= 8
    assert {event for payload in told for event in events_in(payload, origin="")} == events


def test_too_many_or_too_long_tell_everyone():
    assert payloads({Judged(uuid4()) for _ in range(3000)}, origin="") == ['["",[["e"]]]']
    assert payloads({Work("ж" * 4000, False, frozenset({"default"}))}, origin="") == ['["",[["e"]]]']


def test_a_broad_change_makes_the_others_superfluous():
    assert payloads({Everyone(), Judged(uuid4())}, origin="") == ['["",[["e"]]]']


def test_nothing_is_told_of_nothing():
    assert payloads(set(), origin="here") == []


def test_a_process_does_not_hear_itself():
    (payload,) = payloads({Everyone()}, origin="here")

    assert events_in(payload, origin="here") == []
    assert events_in(payload, origin="there") == [Everyone()]


@given(st.text() | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps))
def test_what_cannot_be_understood_means_look_again(payload):
    heard = events_in(payload, origin="here")

    assert all(isinstance(event, Work | Judged | Concerns | Everyone) for event in heard)


def test_a_runner_of_very_many_kinds_waits_under_some_of_them():
    many = Fits(frozenset(str(number) for number in range(10_000)), external=False, pools=frozenset({"red", "blue"}))

    assert len(topics_of(many)) == TOPICS_A_WAITER


def test_a_request_that_nobody_can_park_has_a_look_of_its_own():
    look = Look()

    assert Look.of({"asgi.scope": {"assize.look": look}}) is look
    assert Look.of({"asgi.scope": {}}) == Look()
    assert Look.of({}) == Look()


def test_only_a_look_that_found_nothing_and_may_wait_is_parked():
    wanted = Fits(frozenset({"a"}), external=False, pools=frozenset({"default"}))

    assert Look(fits=wanted, wait_seconds=1).found_nothing
    assert Look(awaiting=uuid4(), wait_seconds=1).found_nothing
    assert not Look(wait_seconds=1).found_nothing
    assert not Look(fits=wanted).found_nothing
    assert not Look(fits=wanted, wait_seconds=0).found_nothing
    assert not Look(fits=wanted, wait_seconds=-1).found_nothing
    assert not Look(fits=wanted, wait_seconds=float("nan")).found_nothing
