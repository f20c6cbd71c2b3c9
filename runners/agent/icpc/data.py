"""The tests of an ICPC package: `data/sample` and `data/secret`, in judging order, each with its settings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from runners.agent.icpc.grading import DEFAULT, Grading, read_grading
from runners.agent.icpc.metadata import FILE, Metadata
from runners.agent.icpc.settings import Flags, Settings, SettingsReader
from runners.agent.judgement import Test
from runners.agent.reading import Reading

SAMPLE, SECRET = "sample", "secret"
VISIBLE = re.compile(r"[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,254}")
"""2025-09: whatever is called otherwise is as good as not there."""

BESIDE = (".in.statement", ".ans.statement", ".in.download", ".ans.download", ".interaction", ".out", ".hint", ".desc", ".args")
PICTURES = (".png", ".jpg", ".jpeg", ".svg")


@dataclass(frozen=True, slots=True)
class Case(Test):
    """A test, and what is particular to it."""

    args: tuple[str, ...] = ()
    """For the submission."""

    flags: tuple[str, ...] = ()
    """For the output validators."""

    input_flags: Flags = ()
    """For the input validators; by their names, when given so."""

    files: Mapping[str, Path] = field(default_factory=dict)
    """Placed in the submission's working directory."""


class DataReader:
    """One walk over `data/`."""

    def __init__(self, root: Path, metadata: Metadata, reading: Reading) -> None:
        self._data = root / "data"
        self._version = metadata.version
        self._general = metadata.flags
        self._reading = reading
        self._settings = SettingsReader(self._data, metadata, reading)
        self._top = Settings(grading=read_grading(metadata.grading, FILE, DEFAULT, reading))
        self.gradings: dict[str, Grading] = {}
        """By the folder's path below `data/`, once `cases` has been there."""

    def cases(self) -> tuple[Case, ...]:
        """Sample first, then secret, by name. Faults and notes go to the reading."""
        top = self._settings.of_folder(self._data, self._top)
        self.gradings[""] = top.grading
        found = [case for name in (SAMPLE, SECRET) for case in self._folder(self._data / name, name, top)]
        if not any(case.group == SECRET for case in found):
            self._reading.fault("data/secret", "there are no tests")
        return tuple(replace(case, number=number) for number, case in enumerate(found, start=1))

    def _folder(self, folder: Path, group: str, above: Settings) -> Iterator[Case]:
        """Tests and folders together in the order of their names."""
        settings = self._settings.of_folder(folder, above)
        self.gradings[str(folder.relative_to(self._data))] = settings.grading
        entries = self._entries(folder)
        inputs = {path.name.removesuffix(".in"): path for path in entries if path.suffix == ".in" and path.is_file()}
        folders = {path.name: path for path in entries if path.is_dir() and not path.name.endswith(".files")}
        self._check(folder, set(inputs), folders)
        for path in entries:
            self._check_beside(path, set(inputs))
        for name in sorted(inputs.keys() | folders.keys()):
            if name in folders:
                yield from self._folder(folders[name], group, settings)
            if name in inputs:
                yield self._case(inputs[name], group, settings)

    def _entries(self, folder: Path) -> list[Path]:
        entries = sorted(folder.iterdir()) if folder.is_dir() else []
        if not self._version.is_new:
            return entries
        for path in entries:
            if not VISIBLE.fullmatch(path.name):
                self._reading.note(self._name(path), "not a name of the format, ignored")
        return [path for path in entries if VISIBLE.fullmatch(path.name)]

    def _name(self, path: Path) -> str:
        return f"data/{path.relative_to(self._data)}"

    def _case(self, path: Path, group: str, settings: Settings) -> Case:
        stem = path.with_suffix("")
        answer = stem.with_name(f"{stem.name}.ans")
        if not answer.is_file():
            self._reading.fault(self._name(path), "has no .ans beside it")
        own = stem.with_name(f"{stem.name}.yaml")
        if self._version.is_new and own.is_file():
            settings = self._settings.of_file(own, settings)
        files = stem.with_name(f"{stem.name}.files")
        inside = {str(item.relative_to(files)): item for item in sorted(files.rglob("*")) if item.is_file()}
        return Case(
            number=0,
            name=str(stem.relative_to(self._data)),
            group=group,
            input=path,
            answer=answer,
            args=settings.args,
            flags=(*self._general, *settings.flags),
            input_flags=settings.input_flags,
            files=inside,
        )

    def _check(self, folder: Path, inputs: set[str], folders: Mapping[str, Path]) -> None:
        """What 2025-09 says of groups."""
        if not self._version.is_new:
            return
        for name in sorted(inputs & folders.keys()):
            self._reading.fault(self._name(folder / name), "a test and a folder of one name")
        if folder == self._data / SECRET and inputs and folders:
            self._reading.fault("data/secret", "holds both tests and groups: it must be one or the other")
        if folder == self._data / SAMPLE and folders:
            self._reading.fault("data/sample", "must not hold groups")
        if len(folder.relative_to(self._data).parts) > 2 and (folder / self._settings.file_name).exists():
            self._reading.fault(self._name(folder / self._settings.file_name), "below a group there are no further groups")

    def _check_beside(self, path: Path, inputs: set[str]) -> None:
        """Whatever is no test must belong to one."""
        name = path.name
        if name == self._settings.file_name or name.endswith(".in") or name.startswith("."):
            return
        if path.is_dir() and not name.endswith(".files"):
            return
        for extension in (*BESIDE, *PICTURES, ".ans", ".yaml", ".files"):
            if name.endswith(extension):
                # A sample interaction may stand for itself.
                if name.removesuffix(extension) not in inputs and extension != ".interaction":
                    self._reading.note(self._name(path), "belongs to no test, ignored")
                return
        self._reading.note(self._name(path), "not part of the format, ignored")
