"""What judging is about and what it comes to, for every problem type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from runners.agent.blob import Blob
from runners.agent.verdicts import SKIPPED, Verdict

OUTPUT_BYTES = 64 << 20
Progress = Callable[[int, int], None]
"""Called with the tests done and the tests in all."""


@dataclass(frozen=True, slots=True)
class Submission:
    """What a participant sent. `others` are further files, which only a package's own submissions have."""

    source: Blob
    file_name: str
    language: str
    others: Mapping[str, Blob] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunLimits:
    """What one run of the submission may use."""

    time_ms: int
    memory_bytes: int
    output_bytes: int = OUTPUT_BYTES

    def overridden(self, by: Mapping[str, int]) -> RunLimits:
        """The same with the members that `by` names replaced."""
        return RunLimits(by.get("timeMs", self.time_ms), by.get("memoryBytes", self.memory_bytes), by.get("outputBytes", self.output_bytes))

    def document(self) -> dict[str, int]:
        return {"timeMs": self.time_ms, "memoryBytes": self.memory_bytes, "outputBytes": self.output_bytes}


@dataclass(frozen=True, slots=True)
class Test:
    """One input and its answer; `number` counts from 1 in judging order."""

    number: int
    name: str
    group: int | str
    input: Path
    answer: Path | None
    """None when the package has none: an empty answer, for a checker or an interactor to ignore."""


@dataclass(frozen=True, slots=True)
class Group:
    """Tests that are won or lost together."""

    group: int | str
    points: float
    examples: bool = False
    limits: Mapping[str, int] = field(default_factory=dict)


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
    """For the jury: what the jury's own programs said."""

    points: float | None = None
    """What a validator said it is worth, where validators do; None: by its verdict."""

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


@dataclass(frozen=True, slots=True)
class Judgement:
    """The whole result of one submission."""

    problem_type: str
    verdict: Verdict
    max_score: float
    """Infinite when nothing says."""

    limits: RunLimits
    """The general limits for this language."""

    reason: str = ""
    compiled: bool | None = None
    """None when nothing was compiled."""

    compiler_log: str = ""
    tests: tuple[Judged, ...] = ()
    groups: tuple[GroupScore, ...] = ()
    total: float | None = None
    """The score, where it is something else than what the groups add up to."""

    @property
    def score(self) -> float:
        return sum(group.score for group in self.groups) if self.total is None else self.total
