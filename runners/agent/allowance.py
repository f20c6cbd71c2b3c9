"""What an assignment allows a submission: limits by language, and which languages. The same in all configurations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runners.agent.judgement import RunLimits
from runners.agent.reading import Reading

MAX_TIME_MS = 600_000
MIN_MEMORY, MAX_MEMORY = 1 << 20, 1 << 36
MAX_OUTPUT = 1 << 28
LIMITS = frozenset({"timeMs", "memoryBytes", "outputBytes"})
MEMBERS = frozenset({"type", "limits", "overrideLimits", "languages"})


@dataclass(frozen=True, slots=True)
class Allowance:
    """Limits, general and by language, and the languages."""

    limits: RunLimits
    override_limits: Mapping[str, Mapping[str, int]]
    languages: tuple[str, ...]
    """Ids or families allowed; empty means any."""

    def limits_of(self, *, family: str, language: str, over: Mapping[str, int] | None = None) -> RunLimits:
        """The general limits, `over` (a group's own) over them, then the language family's, then the language's own.

        The language comes last because its allowance answers how slow the language is, and a group that
        asks for more time than the others must not thereby give a slow language less.
        """
        limits = self.limits.overridden(over or {})
        return limits.overridden(self.override_limits.get(family, {})).overridden(self.override_limits.get(language, {}))

    def allows(self, *, family: str, language: str) -> bool:
        return not self.languages or language in self.languages or family in self.languages


def read_allowance(top: Mapping[str, Any], reading: Reading) -> Allowance:
    """Of a configuration's top-level members; faults are noted in `reading`."""
    listed = reading.items(top.get("languages", []), "config.languages")
    return Allowance(
        limits=_general_limits(top.get("limits", {}), reading),
        override_limits=_overrides(top.get("overrideLimits", {}), reading),
        languages=tuple(reading.text(item, f"config.languages[{at}]") for at, item in enumerate(listed)),
    )


def read_limits(value: Any, where: str, reading: Reading) -> dict[str, int]:
    """Some of the limits, for laying over others."""
    bounds = {"timeMs": (1, MAX_TIME_MS), "memoryBytes": (MIN_MEMORY, MAX_MEMORY), "outputBytes": (1, MAX_OUTPUT)}
    members = reading.members(value, where, known=LIMITS)
    return {name: reading.whole(item, f"{where}.{name}", low=bounds[name][0], high=bounds[name][1]) for name, item in members.items()}


def _general_limits(value: Any, reading: Reading) -> RunLimits:
    said = read_limits(value, "config.limits", reading)
    for name in ("timeMs", "memoryBytes"):
        if name not in said:
            reading.fault("config.limits", f"{name!r} is missing")
    return RunLimits(1, MIN_MEMORY).overridden(said)


def _overrides(value: Any, reading: Reading) -> dict[str, dict[str, int]]:
    if not isinstance(value, Mapping):
        reading.fault("config.overrideLimits", "must be an object")
        return {}
    return {str(name): read_limits(item, f"config.overrideLimits.{name}", reading) for name, item in value.items()}
