"""`config.yml` of a `standard-io@1` package, and the same document after the job's own was laid over it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from runners.agent.errors import Invalid
from runners.agent.judgement import Group, RunLimits
from runners.agent.reading import Reading
from runners.agent.standard_io import TYPE

MAX_CONFIG_BYTES = 1 << 20
MAX_TIME_MS = 600_000
MIN_MEMORY, MAX_MEMORY = 1 << 20, 1 << 36
LIMITS = frozenset({"timeMs", "memoryBytes", "outputBytes"})
TOP = frozenset({"type", "limits", "overrideLimits", "languages", "groups", "checker", "interactor"})
GROUP = frozenset({"group", "points", "examples", "limits"})


@dataclass(frozen=True, slots=True)
class Jury:
    """A program of the package: its main source below `checker/` or `interactor/`, and its language id."""

    source: str
    language: str


@dataclass(frozen=True, slots=True)
class Config:
    """A valid configuration."""

    limits: RunLimits
    override_limits: Mapping[str, Mapping[str, int]]
    languages: tuple[str, ...]
    """Ids or families allowed; empty means any."""

    groups: tuple[Group, ...]
    checker: Jury | None
    interactor: Jury | None

    @property
    def max_score(self) -> float:
        return sum(group.points for group in self.groups)

    def limits_for(self, group: Group | None, *, family: str, language: str) -> RunLimits:
        """The general limits, the group's over them, then the language family's, then the language's own.

        The language comes last because its allowance answers how slow the language is, and a group that
        asks for more time than the others must not thereby give a slow language less.
        """
        limits = self.limits.overridden(group.limits if group else {})
        return limits.overridden(self.override_limits.get(family, {})).overridden(self.override_limits.get(language, {}))

    def allows(self, *, family: str, language: str) -> bool:
        return not self.languages or language in self.languages or family in self.languages


class _PlainLoader(yaml.SafeLoader):
    """YAML without aliases, whose expansion has no bound, and without silently lost duplicate keys."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.events.AliasEvent):
            raise yaml.YAMLError("aliases are not allowed")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:  # noqa: FBT001, FBT002 - the library's own signature
        keys = [key.value for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.YAMLError(f"the key {key!r} occurs twice")
        return super().construct_mapping(node, deep=deep)


def parse_yaml(raw: bytes) -> Any:
    """The document in `config.yml`. Raises Invalid when it is not YAML."""
    if len(raw) > MAX_CONFIG_BYTES:
        raise Invalid("config.yml", [f"larger than {MAX_CONFIG_BYTES} bytes"])
    try:
        return yaml.load(raw.decode("utf-8-sig"), Loader=_PlainLoader)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise Invalid("config.yml", [f"not readable YAML: {' '.join(str(error).split())[:500]}"]) from error


def read_config(document: Any, reading: Reading) -> Config:
    """The configuration a document says; its faults are noted in `reading`, which the caller must look at."""
    top = reading.members(document, "config", known=TOP, required=frozenset({"limits", "groups"}))
    if top.get("type", TYPE) != TYPE:
        reading.fault("config.type", f"must be {TYPE!r}")
    if "checker" in top and "interactor" in top:
        reading.fault("config", "has both a checker and an interactor")
    return Config(
        limits=_general_limits(top.get("limits", {}), reading),
        override_limits=_overrides(top.get("overrideLimits", {}), reading),
        languages=tuple(reading.text(item, f"config.languages[{at}]") for at, item in enumerate(_list(top, "languages", reading))),
        groups=_groups(_list(top, "groups", reading), reading),
        checker=_jury(top, "checker", reading),
        interactor=_jury(top, "interactor", reading),
    )


def _list(top: Mapping[str, Any], name: str, reading: Reading) -> list[Any]:
    return reading.items(top.get(name, []), f"config.{name}")


def _limits(value: Any, where: str, reading: Reading) -> dict[str, int]:
    """Some of the limits, for laying over others."""
    bounds = {"timeMs": (1, MAX_TIME_MS), "memoryBytes": (MIN_MEMORY, MAX_MEMORY), "outputBytes": (1, 1 << 28)}
    members = reading.members(value, where, known=LIMITS)
    return {name: reading.whole(item, f"{where}.{name}", low=bounds[name][0], high=bounds[name][1]) for name, item in members.items()}


def _general_limits(value: Any, reading: Reading) -> RunLimits:
    said = _limits(value, "config.limits", reading)
    for name in ("timeMs", "memoryBytes"):
        if name not in said:
            reading.fault("config.limits", f"{name!r} is missing")
    return RunLimits(1, MIN_MEMORY).overridden(said)


def _overrides(value: Any, reading: Reading) -> dict[str, dict[str, int]]:
    if not isinstance(value, Mapping):
        reading.fault("config.overrideLimits", "must be an object")
        return {}
    return {str(name): _limits(item, f"config.overrideLimits.{name}", reading) for name, item in value.items()}


def _groups(items: list[Any], reading: Reading) -> tuple[Group, ...]:
    groups = tuple(_group(item, f"config.groups[{at}]", reading) for at, item in enumerate(items))
    numbers = [group.group for group in groups]
    for number in sorted({number for number in numbers if numbers.count(number) > 1}):
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
        limits=_limits(members.get("limits", {}), f"{where}.limits", reading),
    )


def _jury(top: Mapping[str, Any], name: str, reading: Reading) -> Jury | None:
    if name not in top:
        return None
    known = frozenset({"source", "language"})
    members = reading.members(top[name], f"config.{name}", known=known, required=known)
    said = {member: reading.text(members.get(member, "?"), f"config.{name}.{member}") for member in known}
    return Jury(source=said["source"].removeprefix(f"{name}/"), language=said["language"])
