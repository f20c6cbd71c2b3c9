"""Reserving a room for one contest in one dialog, and giving it back."""

import pytest

from contests import reserving, rooms, routing
from contests.errors import RoomTaken
from contests.models import Activity, Reservation, Round
from judging import queue
from judging.errors import NotFound
from judging.models import Lane
from runners.models import Pool, Runner
from tests import factories
from tests.admin.reading import told, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def finals(db):
    """An activity with one assignment."""
    activity = Activity.objects.create(slug="finals", title="Finals", pools=["hall-a"])
    round_ = Round.objects.create(activity=activity, title="Main")
    routing.assign(round_, factories.work().problem, slug="A")
    return activity


@pytest.fixture
def boxes(db):
    """Machines of three kinds of tags: hall-a, none, and two."""
    return [factories.box(name="one", tags=("hall-a",)), factories.box(name="two"), factories.box(name="three", tags=("hall-a", "gpu"))]


def tags(boxes):
    return [sorted(Runner.objects.get(id=box.id).tags) for box in boxes]


def pools(activity):
    activity.refresh_from_db()
    return (activity.pools, [lane.pools for lane in Lane.objects.filter(assignment__round__activity=activity)])


def reserve(client, activity, boxes, **more):
    said = {"pool": "room-1", "runners": [box.id for box in boxes], "reason": "finals"} | more
    return client.post(f"/admin/contests/activity/{activity.id}/reserve/", said)


def test_a_room_is_reserved_in_one_dialog_and_given_back_as_it_was(client, finals, boxes):
    asked = words(client.get(f"/admin/contests/activity/{finals.id}/reserve/"))
    reserve(client, finals, boxes[:2])
    reserved = (tags(boxes), pools(finals))
    said = told(client)

    client.post(f"/admin/contests/activity/{finals.id}/give-back/", {"reason": "over"})

    assert "three: gpu, hall-a" in asked
    assert said == ["2 machines judge only Finals now, as room-1."]
    assert reserved == ([["room-1"], ["room-1"], ["gpu", "hall-a"]], (["room-1"], [["room-1"]]))
    assert (tags(boxes), pools(finals)) == ([["hall-a"], [], ["gpu", "hall-a"]], (["hall-a"], [["hall-a"]]))
    assert not Reservation.objects.exists()
    assert not Pool.objects.filter(name="room-1").exists()


def test_machines_of_a_room_judge_nothing_else(finals, boxes):
    factories.submission(factories.work(pools=("hall-a",)))
    reserving.reserve(finals.id, runners=[boxes[0].id], pool="room-1")

    assert isinstance(queue.claim(boxes[0].id), queue.Nothing)


def test_who_else_would_wait_for_ever_is_told_first(client, finals, boxes):
    factories.submission(factories.work(pools=("gpu",)))

    answer = reserve(client, finals, boxes)

    assert "No runner would be left for standard-io@1 in gpu" in words(answer)
    assert not Reservation.objects.exists()
    reserve(client, finals, boxes, anyway="on")
    assert Reservation.objects.get().runners.count() == 3


def test_a_room_in_which_the_activity_cannot_be_judged_is_told_first(client, finals):
    other = factories.box(problem_types=("output-only@1",))

    assert "No runner would be left for standard-io@1 in room-1" in words(reserve(client, finals, [other]))


def test_saying_it_again_after_a_crash_finishes_it(finals, boxes, monkeypatch):
    monkeypatch.setattr(reserving, "retag_activity", lambda *_, **__: (_ for _ in ()).throw(SystemExit))
    with pytest.raises(SystemExit):
        reserving.reserve(finals.id, runners=[boxes[0].id], pool="room-1")
    monkeypatch.undo()
    assert tags(boxes[:1]) == [["hall-a", "room-1"]]

    reserving.reserve(finals.id, runners=[boxes[0].id], pool="room-1")
    reserving.give_back(finals.id)

    assert (tags(boxes[:1]), pools(finals)) == ([["hall-a"]], (["hall-a"], [["hall-a"]]))


def test_what_was_retagged_by_hand_meanwhile_only_loses_the_room_s_name(finals, boxes):
    reserving.reserve(finals.id, runners=[boxes[0].id, boxes[1].id], pool="room-1")
    queue.retag(boxes[0].id, tags=["room-1", "new"])

    reserving.give_back(finals.id)

    assert tags(boxes[:2]) == [["new"], []]


def test_a_machine_is_in_one_room_only(finals, boxes):
    other = Activity.objects.create(slug="other", title="Other")
    reserving.reserve(finals.id, runners=[boxes[0].id], pool="room-1")

    with pytest.raises(RoomTaken):
        reserving.reserve(other.id, runners=[boxes[0].id], pool="room-2")
    with pytest.raises(RoomTaken):
        reserving.reserve(other.id, runners=[boxes[1].id], pool="room-1")
    with pytest.raises(RoomTaken):
        reserving.reserve(other.id, runners=[boxes[1].id], pool="hall-a")
    with pytest.raises(RoomTaken):
        reserving.reserve(other.id, runners=[factories.pending_box().id], pool="room-2")
    assert Reservation.objects.count() == 1


def test_a_revoked_machine_stays_as_it_is(finals, boxes):
    reserving.reserve(finals.id, runners=[boxes[0].id], pool="room-1")
    queue.revoke(boxes[0].id, by="user:1", reason="lost")

    reserving.give_back(finals.id)

    assert tags(boxes[:1]) == [["room-1"]]


def test_nothing_is_given_back_twice(client, finals):
    with pytest.raises(NotFound):
        reserving.give_back(finals.id)
    client.post(f"/admin/contests/activity/{finals.id}/give-back/", {"reason": "again"})

    assert len(told(client)) == 1


def test_reserving_needs_its_permission(staff, finals, boxes):
    assert reserve(staff("contests.view_activity", "contests.retag_activity"), finals, boxes).status_code == 403
    assert not Reservation.objects.exists()


@pytest.fixture
def room(finals, boxes):
    """The first two machines, reserved as room-1."""
    return reserving.reserve(finals.id, runners=[box.id for box in boxes[:2]], pool="room-1")


def test_a_reserved_room_keeps_its_reservation_under_another_name(finals, boxes, room):
    rooms.rename("room-1", to="aula")
    renamed = (tags(boxes), pools(finals), Reservation.objects.get().pool)

    assert reserving.give_back(finals.id) == "aula"
    assert renamed == ([["aula"], ["aula"], ["gpu", "hall-a"]], (["aula"], [["aula"]]), "aula")
    assert (tags(boxes), pools(finals)) == ([["hall-a"], [], ["gpu", "hall-a"]], (["hall-a"], [["hall-a"]]))


def test_what_is_to_be_given_back_follows_a_pool_to_its_new_name(finals, boxes, room):
    rooms.rename("hall-a", to="hall-z")

    reserving.give_back(finals.id)

    assert (tags(boxes), pools(finals)) == ([["hall-z"], [], ["gpu", "hall-z"]], (["hall-z"], [["hall-z"]]))
    assert not Pool.objects.filter(name="hall-a").exists()


@pytest.mark.parametrize(("old", "new"), [("hall-a", "room-1"), ("room-1", "hall-a"), ("room-1", "default")])
def test_a_reserved_room_never_becomes_one_with_another_pool(client, room, boxes, old, new):
    pool, _ = Pool.objects.get_or_create(name=old)
    before = (tags(boxes), pools(room.activity))

    asked = words(client.get(f"/admin/runners/pool/{pool.id}/rename/"))
    client.post(f"/admin/runners/pool/{pool.id}/rename/", {"name": new, "reason": "new signs"})

    assert ("reserved for Finals" in asked) is (old == "room-1")
    assert "(room.taken)" in " ".join(told(client))
    assert (tags(boxes), pools(room.activity)) == before
    assert Reservation.objects.get().pool == "room-1"


def test_a_rename_that_was_cut_off_is_finished_by_saying_it_again(finals, boxes, room, monkeypatch):
    def cut(*_):
        raise ConnectionError

    with monkeypatch.context() as patched:
        patched.setattr(rooms, "_rename_reserved", cut)
        with pytest.raises(ConnectionError):
            rooms.rename("room-1", to="aula")

    rooms.rename("room-1", to="aula")

    assert Reservation.objects.get().pool == "aula"
    assert reserving.give_back(finals.id) == "aula"
    assert pools(finals) == (["hall-a"], [["hall-a"]])
