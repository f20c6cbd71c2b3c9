"""What the demo sends in, and the verdict each program deserves.

The programs lie in `solutions/` with `.txt` behind their names, so that no tool takes one that is wrong on purpose for
one of ours. Every verdict has a program in Python, which is here wherever this runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "solutions"
LANGUAGES = {"cpp17": "C++", "java": "Java", "python3": "Python"}


@dataclass(frozen=True, slots=True)
class Solution:
    """One program: the problem's letter, its file, its language's id, and the verdict it deserves."""

    problem: str
    file: str
    language: str
    verdict: str

    @property
    def source(self) -> bytes:
        """The program."""
        return (FOLDER / self.problem / f"{self.file}.txt").read_bytes()

    @property
    def spoken_language(self) -> str:
        """The language as people call it."""
        return LANGUAGES[self.language]


PATIENT = Solution("A", "patient.py", "python3", "Accepted")
"""Takes seconds: the runner that judges it is killed."""

SOLUTIONS = (
    PATIENT,
    Solution("A", "sum.py", "python3", "Accepted"),
    Solution("A", "sum.cpp", "cpp17", "Accepted"),
    Solution("A", "Sum.java", "java", "Accepted"),
    Solution("A", "first_two.py", "python3", "Wrong answer"),
    Solution("A", "overflow.cpp", "cpp17", "Wrong answer"),
    Solution("A", "forever.py", "python3", "Time limit exceeded"),
    Solution("A", "forever.cpp", "cpp17", "Time limit exceeded"),
    Solution("A", "hoard.py", "python3", "Memory limit exceeded"),
    Solution("A", "flood.py", "python3", "Output limit exceeded"),
    Solution("A", "crash.py", "python3", "Runtime error"),
    Solution("A", "crash.cpp", "cpp17", "Runtime error"),
    Solution("A", "typo.py", "python3", "Compilation error"),
    Solution("A", "typo.cpp", "cpp17", "Compilation error"),
    Solution("B", "change.py", "python3", "Accepted"),
    Solution("B", "greedy.py", "python3", "Partial"),
    Solution("B", "greedy.cpp", "cpp17", "Partial"),
    Solution("C", "halve.py", "python3", "PolicyViolation"),
    Solution("C", "halve.cpp", "cpp17", "Accepted"),
    Solution("C", "one_by_one.cpp", "cpp17", "Wrong answer"),
)


def in_languages(known: Iterable[str]) -> list[Solution]:
    """Those a machine with these languages can judge."""
    there = set(known)
    return [solution for solution in SOLUTIONS if solution.language in there]
