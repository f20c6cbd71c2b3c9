"""The limits of an ICPC package, from all the places they are said in. Pure but for two small files."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runners.agent.box import Limits
from runners.agent.icpc.metadata import FILE, Version
from runners.agent.reading import Reading

MIB = 1 << 20
MEMORY_MIB, OUTPUT_MIB = 2048, 8
"""What the format calls the typical system defaults."""

VALIDATION_MS, VALIDATION_MIB, VALIDATION_OUTPUT_MIB = 60_000, 2048, 8
"""A package may ask for more: a limit of validation says what is needed, not what must not be had."""

LEGACY_LIMITS = frozenset({"time_multiplier", "time_safety_margin"})
NEW_LIMITS = frozenset({"time_multipliers", "time_limit", "time_resolution", "validation_passes"})
SHARED_LIMITS = frozenset(
    {"memory", "output", "code", "compilation_time", "compilation_memory", "validation_time", "validation_memory", "validation_output"}
)
INI, TIMELIMIT = "domjudge-problem.ini", ".timelimit"
FOREIGN_PROGRAMS = frozenset({"special_run", "special_compare"})
MOST_SMALL = 1 << 16


@dataclass(frozen=True, slots=True)
class PackageLimits:
    """What runs of this package's problem may use."""

    time_ms: int | None
    """None when the package does not say: then the job's configuration must."""

    memory_bytes: int
    output_bytes: int
    validation: Limits
    passes: int
    multiplier: float
    """From the slowest accepted submission to the time limit, where that must be found out."""

    resolution_s: float = 1.0

    def inferred_ms(self, slowest_ms: int) -> int:
        """The time limit by the format's own rule: the slowest accepted submission's time, multiplied, in whole units."""
        units = math.ceil(max(slowest_ms, 1) / 1000 * self.multiplier / self.resolution_s - 1e-9)
        return math.ceil(units * self.resolution_s * 1000 - 1e-6)


def read_limits(said: Mapping[str, Any], version: Version, root: Path, reading: Reading) -> PackageLimits:
    """Of `limits` in problem.yaml and of what DOMjudge keeps beside it."""
    numbers = _Numbers(said, reading)
    numbers.known(SHARED_LIMITS | NEW_LIMITS | (frozenset() if version.is_new else LEGACY_LIMITS), strict=version.is_new)
    multipliers = said.get("time_multipliers")
    margin = multipliers.get("ac_to_time_limit", 2.0) if isinstance(multipliers, Mapping) else 2.0
    seconds = _time_limit(numbers.seconds("time_limit"), root, reading)
    return PackageLimits(
        time_ms=None if seconds is None else math.ceil(seconds * 1000 - 1e-6),
        memory_bytes=numbers.whole("memory", MEMORY_MIB, most=1 << 16) * MIB,
        output_bytes=numbers.whole("output", OUTPUT_MIB, most=256) * MIB,
        validation=Limits(
            cpu_ms=max(numbers.whole("validation_time", 0, least=0, most=3600) * 1000, VALIDATION_MS),
            memory_bytes=max(numbers.whole("validation_memory", 0, least=0, most=1 << 16), VALIDATION_MIB) * MIB,
            output_bytes=max(numbers.whole("validation_output", 0, least=0, most=1024), VALIDATION_OUTPUT_MIB) * MIB,
        ),
        passes=numbers.whole("validation_passes", 2, least=2, most=1000),
        multiplier=float(margin) if version.is_new and _is_number(margin) else numbers.seconds("time_multiplier") or 5.0,
        resolution_s=numbers.seconds("time_resolution") or 1.0,
    )


class _Numbers:
    """The numbers among the limits."""

    def __init__(self, said: Mapping[str, Any], reading: Reading) -> None:
        self._said = said
        self._reading = reading

    def known(self, names: frozenset[str], *, strict: bool) -> None:
        for name in self._said:
            if name not in names:
                (self._reading.fault if strict else self._reading.note)(f"{FILE}: limits", f"unknown key {str(name)[:100]!r}")

    def whole(self, name: str, default: int, *, least: int = 1, most: int) -> int:
        value = self._said.get(name, default)
        # Old packages write 1024.0 where a whole number is meant.
        if _is_number(value) and float(value).is_integer() and least <= value <= most:
            return int(value)
        self._reading.fault(f"{FILE}: limits.{name}", f"must be a whole number from {least} to {most}")
        return default

    def seconds(self, name: str) -> float | None:
        value = self._said.get(name)
        if value is None or (_is_number(value) and 0 < value <= 600):
            return None if value is None else float(value)
        self._reading.fault(f"{FILE}: limits.{name}", "must be a number above 0, at most 600")
        return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _time_limit(in_yaml: float | None, root: Path, reading: Reading) -> float | None:
    """The one time limit, in seconds. Two places that disagree are a fault: nobody can know which was meant."""
    said = {f"{FILE}: limits.time_limit": in_yaml, TIMELIMIT: _timelimit_file(root, reading), INI: _ini(root, reading)}
    found = {where: seconds for where, seconds in said.items() if seconds is not None}
    if len({round(seconds, 9) for seconds in found.values()}) > 1:
        reading.fault("time limit", "; ".join(f"{where} says {seconds:g} s" for where, seconds in found.items()))
    return next(iter(found.values()), None)


def _timelimit_file(root: Path, reading: Reading) -> float | None:
    path = root / TIMELIMIT
    return _seconds(path.read_text(errors="replace"), TIMELIMIT, reading) if path.is_file() else None


def _ini(root: Path, reading: Reading) -> float | None:
    """DOMjudge's own file. Programs it names are of that system, not of the package, so they cannot be run."""
    path = root / INI
    if not path.is_file():
        return None
    lines = re.findall(r"^[ \t]*([a-z_-]+)[ \t]*=[ \t]*(.*?)[ \t\r]*$", path.read_text(errors="replace")[:MOST_SMALL], re.MULTILINE)
    members = {name: value.strip("'\"") for name, value in lines}
    for name in sorted(FOREIGN_PROGRAMS & set(members)):
        if members[name]:
            reading.fault(INI, f"{name} names a program that is not in the package: {members[name][:100]!r}")
    return _seconds(members["timelimit"], INI, reading) if members.get("timelimit") else None


def _seconds(text: str, where: str, reading: Reading) -> float | None:
    if re.fullmatch(r"\s*[0-9]{1,4}(\.[0-9]{0,9})?\s*", text) and 0 < float(text) <= 600:
        return float(text)
    reading.fault(where, f"{text.strip()[:50]!r} is no number of seconds, above 0 and at most 600")
    return None
