"""What is made of measurements."""

import pytest

from judging.bench.measure import Figure, Spread, at_once, in_turn, percentile, ratio


def figure(ratio, **target):
    """A figure with this ratio."""
    return Figure("s", "c", "ms", Spread.of([1.0]), None, ratio, **target)


def test_a_target_is_met_at_its_limit():
    assert figure(1.5, most=1.5).met
    assert figure(0.8, least=0.8).met


def test_a_target_is_missed_just_past_its_limit():
    assert figure(1.51, most=1.5).met is False
    assert figure(0.79, least=0.8).met is False


def test_a_figure_without_a_target_is_only_told():
    assert figure(99.0).met is None


def test_sides_take_turns_and_the_order_turns_round():
    called = []

    def side(name):
        called.append(name)
        return 1.0

    in_turn(lambda: side("a"), lambda: side("b"), rounds=2)

    assert called == ["a", "b", "b", "a"]


def test_each_side_gets_its_own_spread():
    ours, floor = in_turn(iter([3.0, 1.0, 2.0]).__next__, iter([4.0, 4.0, 4.0]).__next__, rounds=3)

    assert ours == Spread(median=2.0, low=1.0, high=3.0)
    assert ratio(ours, floor) == 0.5


def test_the_99th_percentile_of_a_hundred_is_the_last_but_nothing_more():
    assert percentile(list(range(100)), 99) == 99
    assert percentile([7.0], 99) == 7.0


def test_a_client_that_fails_is_heard():
    class Failing:
        def __enter__(self):
            raise LookupError("no server")

        def __exit__(self, *_):
            return False

    with pytest.raises(LookupError):
        at_once(Failing, clients=3, times=1)
