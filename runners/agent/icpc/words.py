"""Arguments as ICPC packages write them: one string of words in the legacy format, a list of strings in 2025-09. Pure."""

from __future__ import annotations

import shlex
from typing import Any

from runners.agent.reading import Reading


def words(value: Any, where: str, reading: Reading) -> list[str]:
    """Of a string, its words as a shell takes them; of a list, its strings. A number in it is taken for how it is written."""
    if isinstance(value, str):
        return _split(value)
    listed = [] if value is None else value if isinstance(value, list) else [value]
    for item in listed:
        if not isinstance(item, str | int | float) or isinstance(item, bool) or "\0" in str(item):
            reading.fault(where, "must be a list of strings")
            return []
    return [str(item) for item in listed]


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        # An apostrophe that opens nothing.
        return text.split()
