"""PURE: why a job waits."""

import pytest

from judging.waiting import Need, Obstacle, Place, Squad, obstacles, sentence, stranded, strength, without

STANDARD = "standard-io@1"
WORK = Need(STANDARD, external=False, pools=frozenset({"hall-a"}))
OUTSIDE = Need(STANDARD, external=True, pools=frozenset({"hall-a"}))


def squad(*, types=(STANDARD,), external=False, pools=("hall-a",), approved=1, connected=1, idle=1, pending=0):
    return Squad(frozenset(types), external, frozenset(pools), approved, connected, idle, pending)


def first(need=WORK, place=None, squads=()):
    return obstacles(need, place or Place(), squads)[0]


def test_a_free_runner_that_matches_leaves_it_in_line():
    assert obstacles(WORK, Place(), [squad()]) == (Obstacle.IN_LINE,)


@pytest.mark.parametrize(
    ("fleet", "obstacle"),
    [
        ([], Obstacle.NO_TYPE),
        ([squad(types=("other@1",))], Obstacle.NO_TYPE),
        ([squad(approved=0, connected=0, idle=0, pending=3)], Obstacle.NO_TYPE),
        ([squad(external=True)], Obstacle.NO_FLAG),
        ([squad(pools=("hall-b",))], Obstacle.NO_POOL),
        ([squad(pools=("hall-b",)), squad(external=True)], Obstacle.NO_POOL),
        ([squad(connected=0, idle=0)], Obstacle.NONE_CONNECTED),
        ([squad(idle=0)], Obstacle.ALL_BUSY),
        ([squad(idle=0), squad(pools=("hall-b",))], Obstacle.ALL_BUSY),
        ([squad(connected=0, idle=0), squad(pools=("hall-a", "hall-b"))], Obstacle.IN_LINE),
    ],
)
def test_each_step_narrows_the_fleet(fleet, obstacle):
    assert first(squads=fleet) is obstacle


@pytest.mark.parametrize(
    ("place", "obstacle"),
    [
        (Place(level="draining"), Obstacle.DRAINING),
        (Place(level="closed"), Obstacle.CLOSED),
        (Place(paused=True), Obstacle.PAUSED),
        (Place(sibling_running=True), Obstacle.SIBLING_RUNNING),
        (Place(is_head=False), Obstacle.BEHIND_SIBLING),
    ],
)
def test_what_is_not_the_fleet_s_doing(place, obstacle):
    assert obstacles(WORK, place, [squad()]) == (obstacle,)


def test_external_work_waits_for_the_switch_even_with_a_runner():
    assert first(OUTSIDE, squads=[squad(external=True)]) is Obstacle.EXTERNAL_OFF
    assert first(OUTSIDE, Place(external_judging=True), [squad(external=True)]) is Obstacle.IN_LINE


def test_the_flag_must_be_equal_in_both_directions():
    assert first(OUTSIDE, Place(external_judging=True), [squad()]) is Obstacle.NO_FLAG


def test_all_that_has_to_be_mended_is_told_at_once_in_order():
    found = obstacles(OUTSIDE, Place(level="draining", paused=True, sibling_running=True), [])

    assert found == (Obstacle.DRAINING, Obstacle.PAUSED, Obstacle.EXTERNAL_OFF, Obstacle.NO_TYPE, Obstacle.SIBLING_RUNNING)


def test_a_job_behind_a_running_sibling_is_not_also_said_to_be_behind_a_waiting_one():
    assert obstacles(WORK, Place(is_head=False, sibling_running=True), [squad()]) == (Obstacle.SIBLING_RUNNING,)


def test_runners_that_match_are_added_up():
    fleet = [
        squad(approved=3, connected=2, idle=1),
        squad(pools=("hall-a", "hall-b"), approved=1, connected=1, idle=0),
        squad(pools=("hall-b",)),
    ]

    found = strength(WORK, fleet)

    assert (found.approved, found.connected, found.idle) == (4, 3, 1)


def test_the_sentence_names_the_work_and_the_numbers():
    assert sentence(Obstacle.NO_POOL, WORK, [squad(pools=("hall-b",))]) == "No approved runner for standard-io@1 serves the pool hall-a."
    assert (
        sentence(Obstacle.NONE_CONNECTED, WORK, [squad(approved=2, connected=0, idle=0)])
        == "2 runners may judge it, but none is connected."
    )


def test_the_sentence_tells_of_keys_that_only_wait_for_approval():
    words = sentence(Obstacle.NO_TYPE, WORK, [squad(approved=0, connected=0, idle=0, pending=1)])

    assert words == "No approved runner declares standard-io@1. 1 runner waiting for approval would match."


def test_every_obstacle_has_words():
    assert all(sentence(obstacle, WORK, [squad()]) for obstacle in Obstacle)


def test_work_is_stranded_when_no_approved_runner_may_take_it():
    elsewhere = Need(STANDARD, external=False, pools=frozenset({"attic"}))

    assert stranded([WORK, elsewhere], [squad(connected=0, idle=0)]) == [elsewhere]


def test_a_runner_leaves_the_squad_it_is_of():
    fleet = [squad(approved=2), squad(pools=("hall-b",))]

    left = without(fleet, [squad(connected=0, idle=0)])

    assert [each.approved for each in left] == [1, 1]
