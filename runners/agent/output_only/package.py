"""An unpacked `output-only@1` package, and its configuration with the job's laid over it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runners.agent.allowance import MAX_OUTPUT, MIN_MEMORY, Allowance
from runners.agent.documents import parse_yaml
from runners.agent.errors import Invalid
from runners.agent.judgement import OUTPUT_BYTES, RunLimits, Test
from runners.agent.output_only import TYPE
from runners.agent.overlay import overlay
from runners.agent.reading import Reading
from runners.agent.standard_io.config import Config, read_groups, read_jury
from runners.agent.standard_io.package import match, notes_on, read_tests

TOP = frozenset({"type", "groups", "checker", "limits"})


@dataclass(frozen=True, slots=True)
class Package:
    """What a package says, before any job's configuration."""

    root: Path
    document: Mapping[str, Any]
    config: Config
    tests: tuple[Test, ...]
    notes: tuple[str, ...]

    def configured(self, over: Mapping[str, Any]) -> Config:
        """The package's configuration with the job's laid over it, validated again. Raises Invalid."""
        reading = Reading()
        config = _read_config(overlay(self.document, over), reading)
        match(config, self.tests, self.root, reading)
        if reading.faults:
            raise Invalid("configuration", reading.faults)
        return config


def read_package(root: Path, *, notes: tuple[str, ...] = ()) -> Package:
    """Read the package unpacked at `root`. Raises Invalid with every fault found."""
    if not (root / "config.yml").is_file():
        raise Invalid("package", ["config.yml is missing"])
    document = parse_yaml((root / "config.yml").read_bytes(), "config.yml")
    reading = Reading()
    config = _read_config(document, reading)
    tests = read_tests(root / "tests", reading)
    match(config, tests, root, reading)
    if reading.faults:
        raise Invalid("package", reading.faults)
    return Package(root, document, config, tests, (*notes, *notes_on(root)))


def _read_config(document: Any, reading: Reading) -> Config:
    top = reading.members(document, "config", known=TOP, required=frozenset({"groups"}))
    if top.get("type", TYPE) != TYPE:
        reading.fault("config.type", f"must be {TYPE!r}")
    limits = reading.members(top.get("limits", {}), "config.limits", known=frozenset({"outputBytes"}))
    output = reading.whole(limits.get("outputBytes", OUTPUT_BYTES), "config.limits.outputBytes", low=1, high=MAX_OUTPUT)
    return Config(
        allowance=Allowance(RunLimits(1, MIN_MEMORY, output), {}, ()),
        groups=read_groups(reading.items(top.get("groups", []), "config.groups"), reading),
        checker=read_jury(top, "checker", reading),
        interactor=None,
    )
