"""An unpacked `output-only@1` package: laid out as one of `standard-io@1`, with less to configure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from runners.agent.allowance import MAX_OUTPUT, MIN_MEMORY, Allowance
from runners.agent.judgement import OUTPUT_BYTES, RunLimits
from runners.agent.output_only import TYPE
from runners.agent.reading import Reading
from runners.agent.standard_io import package
from runners.agent.standard_io.config import Config, read_groups, read_jury
from runners.agent.standard_io.package import Package

TOP = frozenset({"type", "groups", "checker", "limits"})


def read_package(root: Path, *, notes: tuple[str, ...] = ()) -> Package:
    """Read the package unpacked at `root`; `notes` are those of the unpacking. Raises Invalid with every fault found."""
    return package.read_package(root, notes=notes, read=_read_config)


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
