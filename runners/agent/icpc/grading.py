"""How a folder of a legacy scoring problem says its results are graded: `testdata.yaml` and the default grader's flags. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from runners.agent.icpc.words import words
from runners.agent.judgement import Judged
from runners.agent.reading import Reading
from runners.agent.verdicts import Verdict

WORST_FIRST = (
    Verdict.RUNTIME_ERROR,
    Verdict.MEMORY_LIMIT,
    Verdict.TIME_LIMIT,
    Verdict.OUTPUT_LIMIT,
    Verdict.WRONG_ANSWER,
)
AGGREGATES: Mapping[str, Callable[[Sequence[float]], float]] = {
    "sum": sum,
    "avg": lambda scores: sum(scores) / len(scores),
    "min": min,
    "max": max,
}
WORST, FIRST, ALWAYS = "worst_error", "first_error", "always_accept"
VERDICTS = {WORST: WORST, "no_errors": WORST, FIRST: FIRST, ALWAYS: ALWAYS}
IGNORE_SAMPLE, ANY_ACCEPTED = "ignore_sample", "accept_if_any_accepted"
KEYS = frozenset({"on_reject", "grading", "grader_flags", "accept_score", "reject_score", "range"})
IN_PROBLEM_YAML = {"first_error": True, "worst_error": None, "grade": False}
"""What `grading.on_reject` there meant, before there was `testdata.yaml`: whether to break."""

NO_GRADERS = "custom graders are not run by this runner"


@dataclass(frozen=True, slots=True)
class Grade:
    """The result of a test or of a folder."""

    verdict: Verdict
    score: float

    @property
    def accepted(self) -> bool:
        return self.verdict is Verdict.ACCEPTED


@dataclass(frozen=True, slots=True)
class Grading:
    """Of one folder; the defaults are the format's."""

    breaks: bool = True
    verdicts: str = WORST
    scores: str = "sum"
    ignores_sample: bool = False
    """At the root only: the second of its results, `secret`, is the whole one."""

    any_accepted: bool = False
    accept: float = 1
    reject: float = 0
    low: float = -math.inf
    high: float = math.inf

    def grade_of(self, one: Judged) -> Grade:
        """A test's: what a validator said it is worth, else what the folder says."""
        verdict = one.verdict or Verdict.ACCEPTED
        if one.points is not None:
            return Grade(verdict, one.points)
        return Grade(verdict, self.accept if verdict is Verdict.ACCEPTED else self.reject)

    def verdict_of(self, grades: Sequence[Grade]) -> Verdict:
        """The default grader's."""
        bad = [grade.verdict for grade in grades if not grade.accepted]
        if not bad or self.verdicts == ALWAYS or (self.any_accepted and len(bad) < len(grades)):
            return Verdict.ACCEPTED
        return bad[0] if self.verdicts == FIRST else min(bad, key=WORST_FIRST.index)

    def score_of(self, scores: Sequence[float]) -> float:
        """The default grader's; of nothing, nothing."""
        return AGGREGATES[self.scores](scores) if scores else 0


DEFAULT = Grading()


def read_grading(members: Mapping[str, Any], where: str, above: Grading, reading: Reading) -> Grading:
    """What a folder says over what the one above it says. Faults go to `reading`."""
    said: dict[str, Any] = {}
    if "on_reject" in members:
        said["breaks"] = members["on_reject"] != "continue"
        # A tuple: what a document says may be a list, which no set can be asked about.
        if members["on_reject"] not in ("break", "continue"):
            reading.fault(where, "on_reject must be break or continue")
    if "grader_flags" in members:
        said |= _of_flags(words(members["grader_flags"], f"{where}: grader_flags", reading), where, reading)
    for key, name in (("accept_score", "accept"), ("reject_score", "reject")):
        if key in members:
            said[name] = _number(members[key], f"{where}: {key}", reading)
    if "range" in members:
        said["low"], said["high"] = _range(members["range"], f"{where}: range", reading)
    return replace(above, **said)


def general_grading(said: Mapping[str, Any], where: str, reading: Reading) -> Mapping[str, Any]:
    """Of `grading` in problem.yaml, as members that each folder is taken to say: so it was before there was `testdata.yaml`."""
    if said.get("objective", "max") != "max":
        reading.fault(where, "objective must be max: more points are better in every ranking here")
    members = {key: said[key] for key in ("accept_score", "reject_score", "range") if said.get(key) is not None}
    breaks = IN_PROBLEM_YAML.get(str(said.get("on_reject")))
    return members if breaks is None else {**members, "on_reject": "break" if breaks else "continue"}


def _of_flags(flags: list[str], where: str, reading: Reading) -> dict[str, Any]:
    """Named anew they replace all of those above; of those that exclude each other the last counts."""
    said: dict[str, Any] = {"verdicts": DEFAULT.verdicts, "scores": DEFAULT.scores}
    for flag in flags:
        if flag in VERDICTS:
            said["verdicts"] = VERDICTS[flag]
        elif flag in AGGREGATES:
            said["scores"] = flag
        elif flag not in {IGNORE_SAMPLE, ANY_ACCEPTED}:
            reading.fault(where, f"grader_flags: the default grader knows no {flag[:50]!r}")
    return said | {"ignores_sample": IGNORE_SAMPLE in flags, "any_accepted": ANY_ACCEPTED in flags}


def _number(value: Any, where: str, reading: Reading) -> float:
    """YAML makes a text of some ways to write a number."""
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if math.isfinite(number) and abs(number) <= 1e9:
        return number
    reading.fault(where, "must be a number from -1000000000 to 1000000000")
    return 0


def _range(value: Any, where: str, reading: Reading) -> tuple[float, float]:
    try:
        low, high = map(float, str(value).split())
    except ValueError:
        low, high = math.inf, -math.inf
    if low <= high:
        return low, high
    reading.fault(where, "must be two numbers with the lower one first")
    return -math.inf, math.inf
