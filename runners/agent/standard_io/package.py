"""An unpacked `standard-io@1` package: its tests in order, and its configuration with the job's over it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runners.agent.documents import parse_yaml
from runners.agent.errors import Invalid
from runners.agent.judgement import Test
from runners.agent.overlay import overlay
from runners.agent.reading import Reading
from runners.agent.standard_io.config import Config, read_config

TEST_NAME = re.compile(r"(?P<group>[0-9]{1,9})(?P<letters>[A-Za-z]*)\.(?P<kind>in|out)")
KNOWN_AT_TOP = frozenset({"config.yml", "tests", "checker", "interactor", "submissions"})


ReadConfig = Callable[[Any, Reading], Config]
"""What a document says to the problem type; faults go to the reading."""


@dataclass(frozen=True, slots=True)
class Package:
    """What a package of this layout says, before any job's configuration; `read` is its type's reading of a configuration."""

    root: Path
    document: Mapping[str, Any]
    config: Config
    tests: tuple[Test, ...]
    notes: tuple[str, ...]
    read: ReadConfig

    def configured(self, over: Mapping[str, Any]) -> Config:
        """The package's configuration with the job's laid over it, validated again. Raises Invalid."""
        reading = Reading()
        config = self.read(overlay(self.document, over), reading)
        match(config, self.tests, self.root, reading)
        if reading.faults:
            raise Invalid("configuration", reading.faults)
        return config


def read_package(root: Path, *, notes: tuple[str, ...] = (), read: ReadConfig = read_config) -> Package:
    """Read the package unpacked at `root`; `notes` are those of the unpacking. Raises Invalid with every fault found."""
    if not (root / "config.yml").is_file():
        raise Invalid("package", ["config.yml is missing"])
    document = parse_yaml((root / "config.yml").read_bytes(), "config.yml")
    reading = Reading()
    config = read(document, reading)
    tests = read_tests(root / "tests", reading)
    match(config, tests, root, reading)
    if reading.faults:
        raise Invalid("package", reading.faults)
    return Package(root, document, config, tests, (*notes, *notes_on(root)), read)


def read_tests(folder: Path, reading: Reading) -> tuple[Test, ...]:
    """The tests by group, then by letters: a, b, … z, aa, ab, …"""
    found: dict[tuple[int, int, str], dict[str, Path]] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        parts = TEST_NAME.fullmatch(path.name)
        if not parts or path.is_symlink() or not path.is_file():
            reading.fault(f"tests/{path.name}", "not a test: tests are called like 1a.in and 1a.out")
            continue
        key = (int(parts["group"]), len(parts["letters"]), parts["letters"])
        if parts["kind"] in found.setdefault(key, {}):
            reading.fault(f"tests/{path.name}", "the same test as another")
        found[key][parts["kind"]] = path
    for files in found.values():
        if "in" not in files:
            reading.fault(f"tests/{files['out'].name}", "has no .in beside it")
    whole = [(key, files) for key, files in sorted(found.items()) if "in" in files]
    return tuple(
        Test(number, files["in"].stem, key[0], files["in"], files.get("out")) for number, (key, files) in enumerate(whole, start=1)
    )


def match(config: Config, tests: tuple[Test, ...], root: Path, reading: Reading) -> None:
    """Groups have tests, tests have groups and answers, the jury's programs are there."""
    if not tests:
        reading.fault("tests", "there are none")
    groups = {group.group for group in config.groups}
    for number in sorted(groups - {test.group for test in tests}):
        reading.fault("config.groups", f"group {number} has no tests")
    for number in sorted({test.group for test in tests} - groups):
        reading.fault("config.groups", f"group {number} is missing, but there are tests of it")
    if config.checker is None and config.interactor is None:
        for test in tests:
            if test.answer is None:
                reading.fault(f"tests/{test.input.name}", "has no .out beside it")
    for folder, jury in (("checker", config.checker), ("interactor", config.interactor)):
        if jury and not _inside(root / folder, jury.source):
            reading.fault(f"config.{folder}.source", f"{folder}/{jury.source} is no file of the package")


def _inside(folder: Path, name: str) -> bool:
    path = folder / name
    return not path.is_symlink() and path.is_file() and path.resolve().is_relative_to(folder.resolve())


def notes_on(root: Path) -> tuple[str, ...]:
    """What lies in the package and is nobody's."""
    extra = sorted(path.name for path in root.iterdir() if path.name not in KNOWN_AT_TOP and not path.name.startswith("."))
    return tuple(f"{name}: not part of the format, ignored" for name in extra)
