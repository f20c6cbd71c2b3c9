"""The jury's own programs, checkers and interactors: built once and kept, run in the box, never trusted to be right."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runners.agent.blob import Blob, holding
from runners.agent.box import Box, Cancelled, Ended, Limits, Outcome
from runners.agent.cache import Cache
from runners.agent.errors import InfrastructureFailure
from runners.agent.languages import Language, Toolchains
from runners.agent.printable import first_line
from runners.agent.programs import Program, Source, build
from runners.agent.verdicts import Verdict

LIMITS = Limits(cpu_ms=30_000, memory_bytes=1 << 30, output_bytes=16 << 20)
ACCEPT, REFUSE, REFUSE_FORMAT, PART = 0, 1, 2, 7
BROKEN_PIPE = 128 + 13
POINTS = re.compile(r"points\s+([0-9]*\.?[0-9]+)\b")


@dataclass(frozen=True, slots=True)
class Word:
    """What a jury program said of a run."""

    share: float
    """Of the test's points: 1 accepts, 0 refuses."""

    said: str
    """Its first line. For the jury only: such lines tend to quote the answer."""

    @property
    def refused(self) -> bool:
        return self.share <= 0

    @property
    def verdict(self) -> Verdict:
        return Verdict.WRONG_ANSWER if self.refused else Verdict.ACCEPTED if self.share >= 1 else Verdict.PARTIAL

    def reason(self, role: str) -> str:
        """What the participant may know of it."""
        return {Verdict.WRONG_ANSWER: f"refused by the {role}", Verdict.PARTIAL: "worth a part of the points"}.get(self.verdict, "")


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a program of the jury's comes to be."""

    name: str
    """How the package calls it."""

    language: Language
    sources: tuple[str, ...]
    """What is compiled together, the one to start from first."""

    files: Mapping[str, Path]
    """All that lies beside each other when it is."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Where the jury's programs are built and kept."""

    box: Box
    toolchains: Toolchains
    cache: Cache

    def program(self, folder: Path, source: str, language: str, cancelled: Cancelled) -> Program:
        """The program of a package's `checker/` or `interactor/`. Raises InfrastructureFailure when it does not compile."""
        known = self.toolchains.languages.get(language)
        if known is None:
            raise InfrastructureFailure(f"{folder.name}: this runner has no toolchain for {language!r}")
        files = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()}
        return self.made(Recipe(source, known, (source,), files), cancelled)

    def made(self, recipe: Recipe, cancelled: Cancelled) -> Program:
        """The program of a recipe, from the cache when it was made before. Raises InfrastructureFailure as `program` does."""
        with self.cache.entry(f"program-{self._key(recipe)}", lambda target: self._build(recipe, target, cancelled)) as kept:
            return Program.load(kept, recipe.language)

    def _key(self, recipe: Recipe) -> str:
        """Everything the program follows from: its files, its command, and the compilers by size and time."""
        digest = hashlib.sha256(repr((recipe.language, recipe.sources, sorted(recipe.files))).encode())
        for tool in recipe.language.tools:
            if tool not in self.toolchains.paths:
                raise InfrastructureFailure(f"{recipe.name}: this runner has no {tool}")
            seen = Path(self.toolchains.paths[tool]).resolve().stat()
            digest.update(repr((tool, seen.st_size, seen.st_mtime_ns)).encode())
        for _, path in sorted(recipe.files.items()):
            digest.update(hashlib.sha256(path.read_bytes()).digest())
        return digest.hexdigest()

    def _build(self, recipe: Recipe, target: Path, cancelled: Cancelled) -> None:
        blobs = {name: Blob.of_file(path) for name, path in recipe.files.items()}
        with holding(*blobs.values()):
            source = Source(next(iter(recipe.sources), ""), blobs, recipe.sources[1:])
            built = build(self.box, self.toolchains, recipe.language, source, cancelled)
        if built.program is None:
            raise InfrastructureFailure(f"the package's {recipe.name} does not compile: {built.log[:1500]}")
        built.program.save(target)
        built.program.close()


def word_of(outcome: Outcome, language: Language, role: str) -> Word:
    """Read a checker's or an interactor's exit code. Raises InfrastructureFailure for anything that is no judgement."""
    said = first_line(outcome.stderr) or first_line(outcome.stdout.read(8192))
    if outcome.ended is not Ended.EXITED:
        raise InfrastructureFailure(f"the {role} was stopped: {outcome.ended}; {said}")
    if outcome.status == ACCEPT:
        return Word(1, said)
    if outcome.status in {REFUSE, REFUSE_FORMAT} and language.crash_sign not in outcome.stderr:
        return Word(0, said)
    points = POINTS.match(said)
    if outcome.status == PART and points and float(points[1]) <= 1:
        return Word(float(points[1]), said)
    raise InfrastructureFailure(f"the {role} ended with {outcome.status}, which is no judgement; {said}")
