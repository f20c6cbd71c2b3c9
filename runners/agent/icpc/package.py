"""An unpacked ICPC package, read whole: every fault and every oddity in it is named with its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from runners.agent.allowance import MEMBERS, Allowance, read_allowance
from runners.agent.documents import at_line, parse_yaml
from runners.agent.errors import Invalid
from runners.agent.icpc import TYPE
from runners.agent.icpc.data import Case, DataReader
from runners.agent.icpc.flags import BadFlags, Flags, read_flags
from runners.agent.icpc.folders import Folder, folders
from runners.agent.icpc.limits import INI, PackageLimits, read_limits
from runners.agent.icpc.metadata import FILE, Metadata, read_metadata
from runners.agent.icpc.validators import Validator, read_validators
from runners.agent.overlay import overlay
from runners.agent.reading import Reading

OLD_FOLDER, NEW_FOLDER = "output_validators", "output_validator"
INPUT_FOLDERS = ("input_validators", "input_format_validators", "input_validator")
STATEMENT = {True: ("statement",), False: ("problem_statement", "statement", "problem.pdf", "problem.html", "problem.txt")}
KNOWN_AT_TOP = frozenset(
    {FILE, INI, "data", "submissions", "include", "attachments", "solution", "solutions", "generators", "graders", OLD_FOLDER, NEW_FOLDER}
    | {
        *INPUT_FOLDERS,
        *STATEMENT[True],
        *STATEMENT[False],
        "input_visualizer",
        "output_visualizer",
        "static_validator",
        "answer_validator",
        "submissions.json",
    }
)
ALL_TESTS = "allTests"
"""Of a job's configuration: run the tests after a failed one too, as a comparison with the jury's promises needs."""

NO_TIME = "the package says no time limit: give limits.timeMs in the configuration"


@dataclass(frozen=True, slots=True)
class Package:
    """What a package says, before any job's configuration."""

    root: Path
    metadata: Metadata
    limits: PackageLimits
    cases: tuple[Case, ...]
    validators: tuple[Validator, ...]
    """Output validators; none for the default one."""

    input_validators: tuple[Validator, ...]
    notes: tuple[str, ...]
    root_folder: Folder
    """`data/`, with how it is graded, which matters to scoring problems only."""

    def document(self) -> dict[str, Any]:
        """What a job's configuration is laid over."""
        limits = {"memoryBytes": self.limits.memory_bytes, "outputBytes": self.limits.output_bytes}
        if self.limits.time_ms is not None:
            limits["timeMs"] = self.limits.time_ms
        return {"limits": limits, "overrideLimits": {}, "languages": list(self.metadata.languages), ALL_TESTS: False}

    def configured(self, over: Mapping[str, Any]) -> Allowance:
        """The package's limits and languages with the job's configuration laid over them. Raises Invalid."""
        reading = Reading()
        top = reading.members(overlay(self.document(), over), "config", known=MEMBERS | {ALL_TESTS})
        if isinstance(top["limits"], Mapping) and "timeMs" not in top["limits"]:
            raise Invalid("configuration", [NO_TIME])
        allowance = read_allowance(top, reading)
        reading.flag(top[ALL_TESTS], f"config.{ALL_TESTS}")
        if reading.faults:
            raise Invalid("configuration", reading.faults)
        return allowance

    def wants_all_tests(self, over: Mapping[str, Any]) -> bool:
        """Whether a configuration that `configured` found valid wants the tests after a failed one too."""
        return bool(overlay(self.document(), over)[ALL_TESTS])

    def included(self, code: str) -> dict[str, Path]:
        """Files added to every submission in the language of this code of the format's."""
        found: dict[str, Path] = {}
        for name in ("default", code):
            folder = self.root / "include" / name
            found |= {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if path.is_file()}
        return found


def read_package(root: Path, *, notes: tuple[str, ...] = ()) -> Package:
    """Read the package unpacked at `root`; `notes` are those of the unpacking. Raises Invalid with every fault found."""
    reading = Reading()
    metadata = read_metadata(_problem_yaml(root, reading), reading, partial(at_line, FILE, root / FILE))
    limits = read_limits(metadata.limits, metadata.version, root, reading)
    data = DataReader(root, metadata, reading)
    cases = data.cases()
    validators = _output_validators(root, metadata, reading)
    inputs = tuple(found for name in INPUT_FOLDERS for found in read_validators(root / name, _notes_only(reading), one_only=False))
    if not validators:
        _check_flags(cases, reading)
    _look_around(root, metadata, limits, reading)
    if reading.faults:
        raise Invalid("package", reading.faults)
    return Package(root, metadata, limits, cases, validators, inputs, (*notes, *reading.notes), folders(cases, data.gradings))


def default_flags(case: Case) -> Flags:
    """The default validator's arguments for a test that was read."""
    return read_flags(case.flags)


def _problem_yaml(root: Path, reading: Reading) -> Any:
    path = root / FILE
    if path.is_file():
        try:
            return parse_yaml(path.read_bytes(), FILE)
        except Invalid as error:
            reading.faults += error.faults
            return None
    # DOMjudge makes do with its own file.
    (reading.note if (root / INI).is_file() else reading.fault)(FILE, "is missing")
    return None


def _notes_only(reading: Reading) -> Reading:
    """For programs that judging does without: what is wrong with them is noted."""
    lenient = Reading()
    lenient.faults = lenient.notes = reading.notes
    return lenient


def _output_validators(root: Path, metadata: Metadata, reading: Reading) -> tuple[Validator, ...]:
    """The package's own, when it means them to be used."""
    new = metadata.version.is_new
    wanted, other = (NEW_FOLDER, OLD_FOLDER) if new else (OLD_FOLDER, NEW_FOLDER)
    if new and _filled(root / other):
        reading.fault(f"{other}/", f"in {metadata.version} it is called {wanted}/")
    if not new and _filled(root / other) and not _filled(root / wanted):
        reading.note(f"{other}/", f"in {metadata.version} it is called {wanted}/, but understood")
        wanted = other
    if not new and not metadata.custom:
        if _filled(root / wanted):
            reading.note(f"{wanted}/", "not used: validation is default")
        return ()
    found = read_validators(root / wanted, reading, one_only=new or wanted == NEW_FOLDER)
    _check_number(found, metadata, wanted, reading)
    return found


def _check_number(found: tuple[Validator, ...], metadata: Metadata, folder: str, reading: Reading) -> None:
    alone = metadata.version.is_new or metadata.interactive or metadata.multi_pass
    if metadata.custom and not found:
        reading.fault(f"{folder}/", "there is no output validator, but the problem needs its own")
    if alone and len(found) > 1:
        reading.fault(f"{folder}/", f"{len(found)} validators where there can only be one: {', '.join(one.name for one in found)}")


def _filled(folder: Path) -> bool:
    return folder.is_dir() and any(not path.name.startswith(".") for path in folder.iterdir())


def _check_flags(cases: tuple[Case, ...], reading: Reading) -> None:
    seen: dict[tuple[str, ...], str] = {}
    for case in cases:
        seen.setdefault(case.flags, case.name)
    for flags, name in seen.items():
        try:
            read_flags(flags)
        except BadFlags as error:
            reading.fault(f"data/{name}", str(error))


def _look_around(root: Path, metadata: Metadata, limits: PackageLimits, reading: Reading) -> None:
    """What the format asks for and judging does without, and what it cannot do."""
    if limits.time_ms is None:
        reading.note("time limit", NO_TIME)
    if _filled(root / "static_validator"):
        reading.fault("static_validator/", "static validators are not run by this runner")
    if not any((root / name).exists() for name in STATEMENT[metadata.version.is_new]):
        reading.note(f"{STATEMENT[metadata.version.is_new][0]}/", "there is no problem statement")
    if not any(_filled(root / name) for name in INPUT_FOLDERS):
        reading.note(f"{INPUT_FOLDERS[0]}/", "there is no input validator")
    if not _filled(root / "submissions" / "accepted"):
        reading.note("submissions/accepted/", "there is no accepted submission")
    for path in sorted(root.iterdir()):
        if path.name not in KNOWN_AT_TOP and not path.name.startswith(".") and not path.name.upper().startswith(("README", "LICENSE")):
            reading.note(path.name, f"not part of {TYPE}, ignored")
