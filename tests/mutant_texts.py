"""The violations that tests/mutants.py plants: what is in the place of what, and a tree to plant it in."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
PLANTED = PROJECT / "tests" / "mutants"
KILLERS = PLANTED / "killers.toml"


@dataclass(frozen=True)
class Edit:
    """One text in place of another. A folder means the last of its files that has the text."""

    file: str
    old: str
    new: str

    def target(self, tree: Path) -> Path:
        """The file it goes into. Raises LookupError when the text is not there exactly once."""
        place = tree / self.file
        files = sorted(place.glob("*.py"), reverse=True) if place.is_dir() else [place] * place.is_file()
        found = next((file for file in files if self.old in file.read_text()), None)
        if found is None or found.read_text().count(self.old) != 1:
            raise LookupError(f"{self.file} does not have this text exactly once: {self.old!r}")
        return found


@dataclass(frozen=True)
class Mutant:
    """The rule that is broken, and by which texts."""

    rule: str
    edits: tuple[Edit, ...]

    @property
    def digest(self) -> str:
        """Another when any of its texts is: what was found of it holds no more."""
        return hashlib.sha256(repr(self).encode()).hexdigest()

    @property
    def in_database(self) -> bool:
        """Whether a database made without it lacks it."""
        return any("migrations" in edit.file for edit in self.edits)

    @contextmanager
    def planted(self, tree: Path) -> Iterator[None]:
        """The tree with the rule broken. Raises LookupError."""
        before: dict[Path, str] = {}
        try:
            for edit in self.edits:
                file = edit.target(tree)
                before.setdefault(file, file.read_text())
                file.write_text(file.read_text().replace(edit.old, edit.new))
            yield
        finally:
            for file, text in before.items():
                file.write_text(text)


def mutants(words: list[str]) -> list[Mutant]:
    """Those whose rule has one of these words; all without any."""
    found = []
    for file in sorted(PLANTED.glob("*.toml")):
        if file == KILLERS:
            continue
        for entry in tomllib.loads(file.read_text())["mutant"]:
            edits = [Edit(one["file"], one["old"], one["new"]) for one in (entry, *entry.get("also", ()))]
            if not words or any(word in entry["rule"] for word in words):
                found.append(Mutant(entry["rule"], tuple(edits)))
    return found


@contextmanager
def copied_tree() -> Iterator[Path]:
    """A copy of what git knows or would know, to plant in."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], cwd=PROJECT, check=True, capture_output=True, text=True
    )
    with tempfile.TemporaryDirectory(prefix="assize-mutants-") as folder:
        for name in filter(None, listed.stdout.split("\0")):
            source, place = PROJECT / name, Path(folder) / name
            if source.is_file():
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, place)
        yield Path(folder)


def content_of(tree: Path) -> str:
    """A hash of all code in a tree but this tool's."""
    files = sorted(file for file in tree.rglob("*.py") if not (file.parent == tree / "tests" and file.name.startswith("mutant")))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
