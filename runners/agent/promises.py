"""What a package's own submissions are said to get, for every problem type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from runners.agent.judgement import Judgement

Check = Callable[[Judgement], list[str]]
"""The sentences that say which promises a judgement breaks."""


@dataclass(frozen=True, slots=True)
class Promised:
    """One submission of the jury's."""

    name: str
    source: str
    """The file of `files` to start from."""

    files: Mapping[str, Path]
    language: str | None
    """An id of the table; None when nothing tells it."""

    check: Check
    accepted: bool = False
    """Whether it is one of those that a time limit must suffer."""
