"""The default output validator's arguments. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

FLOAT = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
"""The format's grammar of a number: decimal, no hexadecimal, no `nan`, no `inf`."""

BOTH, ABSOLUTE, RELATIVE = "float_tolerance", "float_absolute_tolerance", "float_relative_tolerance"


class BadFlags(ValueError):
    """The sentence says which argument and why."""


@dataclass(frozen=True, slots=True)
class Flags:
    """How output is compared with an answer. A tolerance is None when it was not set."""

    case_sensitive: bool = False
    space_change_sensitive: bool = False
    absolute: float | None = None
    relative: float | None = None

    @property
    def floats(self) -> bool:
        return self.absolute is not None or self.relative is not None

    def near(self, said: float, wanted: float) -> bool:
        """Within either tolerance."""
        apart = abs(said - wanted)
        if not math.isfinite(apart):
            return False
        if self.absolute is not None and apart <= self.absolute:
            return True
        return self.relative is not None and apart <= self.relative * abs(wanted)


def read_flags(words: Sequence[str]) -> Flags:
    """Raises BadFlags for an unknown argument, a tolerance without a number, or the same said twice."""
    flags, left, said = Flags(), list(words), set[str]()
    while left:
        word = left.pop(0)
        if word in said:
            raise BadFlags(f"{word} is said twice")
        said.add(word)
        if word == "case_sensitive":
            flags = replace(flags, case_sensitive=True)
        elif word == "space_change_sensitive":
            flags = replace(flags, space_change_sensitive=True)
        elif word in {BOTH, ABSOLUTE, RELATIVE}:
            value = _tolerance(word, left.pop(0) if left else "")
            flags = replace(
                flags,
                absolute=flags.absolute if word == RELATIVE else value,
                relative=flags.relative if word == ABSOLUTE else value,
            )
        else:
            raise BadFlags(f"the default output validator has no argument {word[:100]!r}")
    if BOTH in said and {ABSOLUTE, RELATIVE} & said:
        raise BadFlags(f"{BOTH} beside another tolerance")
    return flags


def _tolerance(word: str, value: str) -> float:
    number = float(value) if FLOAT.fullmatch(value.encode("utf-8", "replace")) else math.nan
    if not 0 <= number < math.inf:
        raise BadFlags(f"{word} needs a number that is not negative, not {value[:100]!r}")
    return number
