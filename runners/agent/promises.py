"""What a package's own submissions are said to get, for every problem type. Pure.

A promise is a list of demands, which travel as JSON: whoever asks for a verification need not be whoever judges it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runners.agent.judgement import Judged, Judgement
from runners.agent.verdicts import Verdict

AC, WA, TLE, RTE = "AC", "WA", "TLE", "RTE"
ALL = frozenset({AC, WA, TLE, RTE})
CLASSES = {
    Verdict.ACCEPTED: AC,
    Verdict.WRONG_ANSWER: WA,
    Verdict.OUTPUT_LIMIT: WA,
    Verdict.TIME_LIMIT: TLE,
    Verdict.MEMORY_LIMIT: RTE,
    Verdict.RUNTIME_ERROR: RTE,
}
"""The format knows four verdicts of a test."""


@dataclass(frozen=True, slots=True)
class Demand:
    """On the verdicts of some tests, or on the whole."""

    permitted: frozenset[str] = ALL
    required: frozenset[str] = ALL
    tests: re.Pattern[str] | None = None
    """Which tests, by name; None for all."""

    message: str = ""
    """Must be in what a validator said of one of them."""

    results: frozenset[Verdict] = field(default_factory=frozenset)
    """The whole verdict must be one of these; empty demands nothing of it."""

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Demand:
        """What `document` made."""
        tests = document.get("tests")
        return cls(
            permitted=frozenset(document["permitted"]),
            required=frozenset(document["required"]),
            tests=None if tests is None else re.compile(tests),
            message=document["message"],
            results=frozenset(Verdict(word) for word in document["results"]),
        )

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "permitted": sorted(self.permitted),
            "required": sorted(self.required),
            "tests": self.tests.pattern if self.tests else None,
            "message": self.message,
            "results": sorted(self.results),
        }

    def __str__(self) -> str:
        """In words, for a table of what was expected."""
        where = " in some tests" if self.tests else ""
        if self.results:
            return " or ".join(sorted(self.results))
        said = f"{' or '.join(sorted(self.required))} somewhere" if self.required != ALL else ""
        only = f"only {', '.join(sorted(self.permitted))}" if self.permitted != ALL else ""
        asked = f"a validator says {self.message!r}" if self.message else ""
        return "; ".join(part for part in (said, only, asked) if part) + where or "anything"

    def broken(self, judgement: Judgement) -> list[str]:
        """What is not as demanded, in sentences."""
        if self.results:
            wanted = " or ".join(sorted(self.results))
            return [] if judgement.verdict in self.results else [f"promised {wanted}"]
        tests = [one for one in judgement.tests if one.verdict is not None and (not self.tests or self.tests.fullmatch(one.test.name))]
        if not tests:
            return ["no test was run that the promise is about"]
        return [*self._not_permitted(tests), *self._not_met(tests)]

    def _not_permitted(self, tests: list[Judged]) -> Iterable[str]:
        for one in tests:
            if class_of(one) not in self.permitted:
                yield f"{one.test.name} is {one.status}, and only {', '.join(sorted(self.permitted))} may be"
                return

    def _not_met(self, tests: list[Judged]) -> Iterable[str]:
        if not any(class_of(one) in self.required for one in tests):
            yield f"no test is {' or '.join(sorted(self.required))}"
        if self.message and not any(self.message in one.log for one in tests):
            yield f"no validator said {self.message!r}"


def class_of(one: Judged) -> str:
    return CLASSES.get(one.verdict or Verdict.ACCEPTED, "")


@dataclass(frozen=True, slots=True)
class Promised:
    """One submission of the jury's."""

    name: str
    source: str
    """The file of `files` to start from."""

    files: Mapping[str, Path]
    language: str | None
    """An id of the table; None when nothing tells it."""

    demands: tuple[Demand, ...] = ()
    unclear: str = ""
    """Why nobody can know what is promised, in a sentence; that breaks the promise whatever it gets."""

    accepted: bool = False
    """Whether it is one of those that a time limit must suffer."""

    def check(self, judgement: Judgement) -> list[str]:
        """The sentences that say which promises a judgement breaks."""
        return broken(self.demands, self.unclear, judgement)


def broken(demands: Iterable[Demand], unclear: str, judgement: Judgement) -> list[str]:
    """What of a promise a judgement does not keep, in sentences."""
    return [unclear] if unclear else [sentence for demand in demands for sentence in demand.broken(judgement)]
