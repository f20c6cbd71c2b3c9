"""`config.yml` of a `standard-io@1` package, and the same document after the job's own was laid over it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runners.agent.allowance import MEMBERS, Allowance, read_allowance, read_limits
from runners.agent.judgement import Group, RunLimits
from runners.agent.reading import Reading
from runners.agent.standard_io import TYPE

TOP = MEMBERS | {"groups", "checker", "interactor"}
GROUP = frozenset({"group", "points", "examples", "limits"})


@dataclass(frozen=True, slots=True)
class Jury:
    """A program of the package: its main source below `checker/` or `interactor/`, and its language id."""

    source: str
    language: str


@dataclass(frozen=True, slots=True)
class Config:
    """A valid configuration."""

    allowance: Allowance
    groups: tuple[Group, ...]
    checker: Jury | None
    interactor: Jury | None

    @property
    def max_score(self) -> float:
        return sum(group.points for group in self.groups)

    def limits_for(self, group: Group | None, *, family: str, language: str) -> RunLimits:
        """See Allowance.limits_of."""
        return self.allowance.limits_of(family=family, language=language, over=group.limits if group else None)


def read_config(document: Any, reading: Reading) -> Config:
    """The configuration a document says; its faults are noted in `reading`, which the caller must look at."""
    top = reading.members(document, "config", known=TOP, required=frozenset({"limits", "groups"}))
    if top.get("type", TYPE) != TYPE:
        reading.fault("config.type", f"must be {TYPE!r}")
    if "checker" in top and "interactor" in top:
        reading.fault("config", "has both a checker and an interactor")
    return Config(
        allowance=read_allowance(top, reading),
        groups=read_groups(reading.items(top.get("groups", []), "config.groups"), reading),
        checker=read_jury(top, "checker", reading),
        interactor=read_jury(top, "interactor", reading),
    )


def read_groups(items: list[Any], reading: Reading) -> tuple[Group, ...]:
    """Of `groups`; faults are noted in `reading`."""
    groups = tuple(_group(item, f"config.groups[{at}]", reading) for at, item in enumerate(items))
    numbers = [group.group for group in groups]
    for number in dict.fromkeys(number for number in numbers if numbers.count(number) > 1):
        reading.fault("config.groups", f"group {number} occurs twice")
    return groups


def _group(item: Any, where: str, reading: Reading) -> Group:
    members = reading.members(item, where, known=GROUP, required=frozenset({"group", "points"}))
    number = members.get("group", 0)
    if isinstance(number, str) and number.isascii() and number.isdigit() and len(number) < 9:
        number = int(number)
    return Group(
        group=reading.whole(number, f"{where}.group", low=0, high=10**9),
        points=reading.points(members.get("points", 0), f"{where}.points"),
        examples=reading.flag(members.get("examples", False), f"{where}.examples"),
        limits=read_limits(members.get("limits", {}), f"{where}.limits", reading),
    )


def read_jury(top: Mapping[str, Any], name: str, reading: Reading) -> Jury | None:
    """Of `checker` or `interactor`, if it is there."""
    if name not in top:
        return None
    known = frozenset({"source", "language"})
    members = reading.members(top[name], f"config.{name}", known=known, required=known)
    said = {member: reading.text(members.get(member, "?"), f"config.{name}.{member}") for member in known}
    return Jury(source=said["source"].removeprefix(f"{name}/"), language=said["language"])
