"""Reading a document of unknown shape and naming everything that is wrong with it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


class Reading:
    """One walk over a document. Every method answers a usable value and notes a fault instead of raising."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.notes: list[str] = []
        """What is odd, but keeps nobody from judging."""

    def fault(self, where: str, sentence: str) -> None:
        self.faults.append(f"{where}: {sentence}")

    def note(self, where: str, sentence: str) -> None:
        self.notes.append(f"{where}: {sentence}")

    def members(self, value: Any, where: str, *, known: frozenset[str], required: frozenset[str] = frozenset()) -> dict[str, Any]:
        """The members of an object; unknown and missing ones are faults named one by one."""
        if not isinstance(value, Mapping):
            self.fault(where, "must be an object")
            return {}
        for name in value:
            if name not in known:
                self.fault(where, f"unknown key {str(name)[:100]!r}")
        for name in sorted(required - set(value)):
            self.fault(where, f"{name!r} is missing")
        return {name: item for name, item in value.items() if name in known}

    def items(self, value: Any, where: str) -> list[Any]:
        if isinstance(value, list):
            return value
        self.fault(where, "must be a list")
        return []

    def whole(self, value: Any, where: str, *, low: int, high: int) -> int:
        """A whole number in a range; the lowest when it is not one."""
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return value
        self.fault(where, f"must be a whole number from {low} to {high}")
        return low

    def points(self, value: Any, where: str) -> float:
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and 0 <= value <= 1e9:
            return value
        self.fault(where, "must be a number from 0 to 1000000000")
        return 0

    def text(self, value: Any, where: str) -> str:
        if isinstance(value, str) and 0 < len(value) <= 300:
            return value
        self.fault(where, "must be a text of 1 to 300 characters")
        return ""

    def flag(self, value: Any, where: str) -> bool:
        if isinstance(value, bool):
            return value
        self.fault(where, "must be true or false")
        return False
