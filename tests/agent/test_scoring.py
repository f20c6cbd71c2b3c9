"""From tests to a score and a word (runner-agent §2)."""

from pathlib import Path

import pytest

from runners.agent.judgement import Group, Judged
from runners.agent.judgement import Test as PackageTest
from runners.agent.scoring import overall, score_group
from runners.agent.verdicts import Verdict


def judged(number, group, verdict, share=1.0):
    return Judged(PackageTest(number, str(number), group, Path(), None), verdict, share if verdict in {"Accepted", "Partial"} else 0)


def test_a_group_that_passes_is_worth_its_points_exactly():
    tests = [judged(n, 1, Verdict.ACCEPTED) for n in range(3)]

    score = score_group(Group(1, 10), tests)

    assert score.score == 10
    assert score.max_per_test == pytest.approx(10 / 3)


def test_one_failed_test_zeroes_its_group_and_no_other():
    tests = [judged(1, 1, Verdict.ACCEPTED), judged(2, 1, Verdict.TIME_LIMIT), judged(3, 2, Verdict.ACCEPTED)]

    assert score_group(Group(1, 40), tests).score == 0
    assert score_group(Group(1, 40), tests).status == "Time limit exceeded"
    assert score_group(Group(2, 60), tests).score == 60


def test_the_verdict_is_the_first_failing_test_in_order():
    tests = [judged(1, 1, Verdict.ACCEPTED), judged(2, 1, Verdict.RUNTIME_ERROR), judged(3, 1, None), judged(4, 2, Verdict.WRONG_ANSWER)]

    assert overall(tests) == Verdict.RUNTIME_ERROR


def test_a_part_of_the_points_without_a_failure_is_partial():
    tests = [judged(1, 1, Verdict.ACCEPTED), judged(2, 1, Verdict.PARTIAL, 0.5)]

    assert overall(tests) == Verdict.PARTIAL
    assert score_group(Group(1, 40), tests).score == 30


def test_groups_without_points_can_still_be_failed():
    assert score_group(Group(0, 0), [judged(1, 0, Verdict.WRONG_ANSWER)]).status == "Wrong answer"
    assert score_group(Group(0, 0), [judged(1, 0, Verdict.ACCEPTED)]).status == "Accepted"
