"""PURE: what several failures of one job say together."""

import pytest

from judging.diagnosis import LEASE_RAN_OUT, Failure, diagnose

A, B = ("1", "one"), ("2", "two")


def failures(*told):
    return [Failure(runner, name, reason) for (runner, name), reason in told]


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ([(A, "x"), (B, "x")], "lies with the job"),
        ([(A, "x"), (A, "x")], "Every time it was with one"),
        ([(A, "x"), (A, "y")], "Every time it was with one"),
        ([(A, "x"), (B, "y")], "2 machines gave 2 different reasons"),
        ([(A, LEASE_RAN_OUT), (A, LEASE_RAN_OUT)], "fell silent, with one"),
        ([(A, LEASE_RAN_OUT), (B, LEASE_RAN_OUT)], "fell silent, with 2 machines"),
        ([(A, LEASE_RAN_OUT), (B, "x")], "2 machines gave 2 different reasons"),
    ],
)
def test_the_reasons_are_compared_between_machines(told, said):
    assert said in diagnose(failures(*told))


def test_one_failure_may_be_chance():
    assert diagnose(failures((A, "x"))) == ""
    assert diagnose([]) == ""
