"""From the outcomes of tests to a score and one word. Pure (runner-agent §2)."""

from __future__ import annotations

from collections.abc import Sequence

from runners.agent.judgement import Group, GroupScore, Judged
from runners.agent.verdicts import SKIPPED, Verdict


def score_group(group: Group, judged: Sequence[Judged]) -> GroupScore:
    """One failed test zeroes the group."""
    mine = [one for one in judged if one.test.group == group.group]
    each = group.points / len(mine)
    failed = next((one for one in mine if one.failed), None)
    if failed is not None:
        return GroupScore(group, failed.status, 0, (0,) * len(mine), each)
    if any(one.verdict is None for one in mine):
        return GroupScore(group, SKIPPED, 0, (0,) * len(mine), each)
    status = Verdict.ACCEPTED if all(one.share >= 1 for one in mine) else Verdict.PARTIAL
    shares = tuple(each * one.share for one in mine)
    # Thirds do not add up in binary: a full group is worth its points exactly.
    return GroupScore(group, status, group.points if status is Verdict.ACCEPTED else sum(shares), shares, each)


def overall(judged: Sequence[Judged]) -> Verdict:
    """The first failing test in order, else `Accepted`, else `Partial` when a checker withheld points."""
    for one in judged:
        if one.failed and one.verdict is not None:
            return one.verdict
    return Verdict.ACCEPTED if all(one.share >= 1 for one in judged) else Verdict.PARTIAL
