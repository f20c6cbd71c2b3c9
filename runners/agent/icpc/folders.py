"""The folders of a scoring problem: played in order, and graded from the inside out. Pure but for what plays a test.

A folder's results are those of its tests and folders in the order of their names. Where it breaks at the first that is
not accepted, the rest is not judged and not graded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from runners.agent.icpc.data import SAMPLE, Case
from runners.agent.icpc.grading import Grade, Grading
from runners.agent.judgement import Group, GroupScore, Judged
from runners.agent.verdicts import SKIPPED, Verdict

Play = Callable[[Case, bool], Judged]
"""Judge a test; True: what it gets has no part in any grade."""


class OutOfRange(ValueError):
    """A score that the package itself says there cannot be."""


@dataclass
class Folder:
    """A folder with tests somewhere in it."""

    name: str
    """Its path below `data/`; empty for that itself."""

    grading: Grading
    items: list[Case | Folder] = field(default_factory=list)

    @property
    def counted(self) -> list[Case | Folder]:
        """The items whose results are the folder's."""
        return self.items[-1:] if self.grading.ignores_sample and not self.name else self.items

    def graded(self, grades: Sequence[Grade]) -> Grade:
        """Raises OutOfRange."""
        if self.grading.ignores_sample and not self.name:
            grades = grades[-1:]
        grade = Grade(self.grading.verdict_of(grades), self.grading.score_of([grade.score for grade in grades]))
        low, high = self.grading.low, self.grading.high
        if grade.accepted and grades and not low <= grade.score <= high:
            raise OutOfRange(f"data/{self.name} got {grade.score:g} points, outside of its range from {low:g} to {high:g}")
        return grade

    def bounds(self, *, by_validator: bool) -> tuple[float, float]:
        """The lowest and the highest score there can be, as far as anything says. `by_validator`: validators give points."""
        found = [self._bounds_of(item, by_validator=by_validator) for item in self.counted]
        low, high = (self.grading.score_of([ends[place] for ends in found]) for place in (0, 1))
        return max(low, self.grading.low), min(high, self.grading.high)

    def _bounds_of(self, item: Case | Folder, *, by_validator: bool) -> tuple[float, float]:
        if isinstance(item, Folder):
            return item.bounds(by_validator=by_validator)
        ends = self.grading.accept, self.grading.reject
        return (-math.inf, math.inf) if by_validator else (min(ends), max(ends))


def folders(cases: Sequence[Case], gradings: Mapping[str, Grading]) -> Folder:
    """All of them from the root on; each test's group is the folder it lies in."""
    root = Folder("", gradings[""])
    made = {"": root}
    for case in cases:
        path = case.name.rpartition("/")[0]
        _folder(path, made, gradings).items.append(replace(case, group=path))
    return root


def _folder(path: str, made: dict[str, Folder], gradings: Mapping[str, Grading]) -> Folder:
    if path not in made:
        above = _folder(path.rpartition("/")[0], made, gradings)
        made[path] = Folder(path, gradings[path])
        above.items.append(made[path])
    return made[path]


@dataclass
class Round:
    """One judging of all tests, and what became of each folder that has some."""

    play: Play
    by_validator: bool
    tests: list[Judged] = field(default_factory=list)
    groups: list[GroupScore] = field(default_factory=list)

    def of(self, folder: Folder, *, over: bool = False) -> Grade:
        """The folder's grade. `over`: the judging has ended before it. Raises OutOfRange."""
        grades: list[Grade] = []
        points: list[float] = []
        ended = over
        for item in folder.items:
            grade = self.of(item, over=ended) if isinstance(item, Folder) else self._test(item, folder, points, over=ended)
            if not ended:
                grades.append(grade)
                ended = folder.grading.breaks and not grade.accepted
        grade = Grade(Verdict.ACCEPTED, 0) if over else folder.graded(grades)
        if points:
            self.groups.append(self._group(folder, grade, points, over=over))
        return grade

    def _test(self, case: Case, folder: Folder, points: list[float], *, over: bool) -> Grade:
        one = self.play(case, over)
        self.tests.append(one)
        grade = folder.grading.grade_of(one)
        points.append(0 if over or one.verdict is None else grade.score)
        return grade

    def _group(self, folder: Folder, grade: Grade, points: Sequence[float], *, over: bool) -> GroupScore:
        group = Group(folder.name, folder.bounds(by_validator=self.by_validator)[1], examples=folder.name.split("/")[0] == SAMPLE)
        status = SKIPPED if over else str(grade.verdict)
        return GroupScore(group, status, grade.score if grade.accepted else 0, tuple(points), folder.grading.accept)


def final(root: Grade, most: float, tests: Sequence[Judged]) -> tuple[Verdict, float]:
    """The whole verdict and score. What is not accepted is worth nothing, and accepted for nothing is what went wrong first."""
    if not root.accepted:
        return root.verdict, 0
    if root.score >= most:
        return Verdict.ACCEPTED, root.score
    failed = next((one.verdict for one in tests if one.failed and one.verdict), None)
    if math.isinf(most) and failed is None:
        return Verdict.ACCEPTED, root.score
    return (failed if root.score <= 0 and failed else Verdict.PARTIAL), root.score
