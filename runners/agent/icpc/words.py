"""Arguments as ICPC packages write them: one string of words in the legacy format, a list of strings in 2025-09. Pure."""

from __future__ import annotations

from typing import Any

from runners.agent.reading import Reading


def words(value: Any, where: str, reading: Reading) -> list[str]:
    """Of a string, its words; of a list, its strings. A number in it is taken for how it is written."""
    if value is None:
        return []
    if isinstance(value, str):
        return value.split()
    if isinstance(value, int | float) and not isinstance(value, bool):
        return [str(value)]
    if not isinstance(value, list):
        reading.fault(where, "must be a list of strings")
        return []
    for item in value:
        if not isinstance(item, str | int | float) or isinstance(item, bool) or "\0" in str(item):
            reading.fault(where, "must be a list of strings")
            return []
    return [str(item) for item in value]
