"""From the outcomes of tests to a score and one word. Pure (runner-agent §2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runners.agent.standard_io.config import Group
from runners.agent.standard_io.package import Test
from runners.agent.verdicts import SKIPPED, Verdict


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of one test."""

    test: Test
    verdict: Verdict | None
    """None when the test was skipped."""

    share: float = 0.0
    """Of the test's points, from 0 to 1: less than 1 only by a checker's word."""

    time_ms: int = 0
    memory_bytes: int | None = None
    reason: str = ""
    """Safe to show to the participant: says nothing of the answer."""

    log: str = ""
    """For the jury: what the checker or the interactor said."""

    @property
    def failed(self) -> bool:
        return self.verdict not in {None, Verdict.ACCEPTED, Verdict.PARTIAL}

    @property
    def status(self) -> str:
        return SKIPPED if self.verdict is None else str(self.verdict)


@dataclass(frozen=True, slots=True)
class GroupScore:
    """One group's part of the score. Its points are shared equally by its tests."""

    group: Group
    status: str
    score: float
    per_test: tuple[float, ...]
    """The points of each of its tests, in order."""

    max_per_test: float


def score_group(group: Group, judged: Sequence[Judged]) -> GroupScore:
    """One failed test zeroes the group."""
    mine = [one for one in judged if one.test.group == group.group]
    each = group.points / len(mine)
    failed = next((one for one in mine if one.failed), None)
    if failed is not None:
        return GroupScore(group, failed.status, 0, (0,) * len(mine), each)
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
