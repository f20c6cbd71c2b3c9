"""`agent verify PACKAGE`: judge the jury's own submissions and compare with what is promised of them.

Where a package says no time limit, one is found from its accepted submissions first.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from runners.agent import icpc, output_only, standard_io
from runners.agent.archive import unpack
from runners.agent.blob import Blob, holding
from runners.agent.box import BoxSettings, open_box
from runners.agent.cache import Cache
from runners.agent.documents import parse_yaml
from runners.agent.errors import InfrastructureFailure, Invalid
from runners.agent.examples import promised_by, thoroughly
from runners.agent.icpc.inputs import refused_inputs
from runners.agent.icpc.package import Package as IcpcPackage
from runners.agent.judgement import Judgement, Submission
from runners.agent.jury import Bench
from runners.agent.kinds import KINDS, Readable
from runners.agent.languages import find_toolchains
from runners.agent.promises import Promised
from runners.agent.trial import Trial

EXIT_AS_PROMISED, EXIT_DIFFERENT = 0, 1
GENEROUS_MS = 60_000
"""For finding out how long accepted submissions take, where a package says no time limit."""


def verify(package: Path, settings: BoxSettings, out: TextIO) -> int:
    """Write a line a submission. 1 when the package is invalid, holds no submission, or one differs."""
    try:
        with _unpacked(package, settings.scratch.parent) as (folder, notes):
            problem_type = type_of(folder)
            read = KINDS[problem_type].read(folder, notes)
            out.writelines(f"note: {note}\n" for note in read.notes)
            promised = promised_by(read)
            if not promised:
                out.write("submissions/: there are none to judge\n")
                return EXIT_DIFFERENT
            return Verification(_trial(settings), read, problem_type, out).all(promised)
    except Invalid as error:
        out.writelines(f"{fault}\n" for fault in error.faults)
        return EXIT_DIFFERENT


@contextlib.contextmanager
def _unpacked(package: Path, scratch: Path) -> Iterator[tuple[Path, tuple[str, ...]]]:
    if package.is_dir():
        yield package, ()
        return
    if not package.is_file():
        raise Invalid("package", [f"{package}: there is no such file or folder"])
    folder = scratch / "package"
    folder.mkdir(parents=True)
    yield folder, unpack(package, folder)


def type_of(folder: Path) -> str:
    """The problem type a package is of, by what lies in it."""
    if (folder / "config.yml").is_file():
        document = parse_yaml((folder / "config.yml").read_bytes(), "config.yml")
        said = document.get("type", standard_io.TYPE) if isinstance(document, Mapping) else standard_io.TYPE
        return said if said in KINDS else standard_io.TYPE
    return icpc.TYPE if (folder / "problem.yaml").exists() or (folder / "data").is_dir() else standard_io.TYPE


def _trial(settings: BoxSettings) -> Trial:
    box, toolchains = open_box(settings), find_toolchains()
    cache = Cache(settings.scratch.parent / "cache").open()
    return Trial(box, toolchains, Bench(box, toolchains, cache), lambda: False)


@dataclass
class Verification:
    """One package's submissions, judged one after the other."""

    trial: Trial
    package: Readable
    problem_type: str
    out: TextIO
    slowest_ms: int = 0
    skipped: int = 0

    def all(self, promised: list[Promised]) -> int:
        different = self._inputs()
        over: dict[str, Any] = {}
        accepted, others = [one for one in promised if one.accepted], [one for one in promised if not one.accepted]
        unlimited = isinstance(self.package, IcpcPackage) and self.package.limits.time_ms is None
        different += self._each(accepted, {"limits": {"timeMs": GENEROUS_MS}} if unlimited else over)
        if unlimited and isinstance(self.package, IcpcPackage):
            found = self.package.limits.inferred_ms(self.slowest_ms)
            self.out.write(f"note: no time limit is said; {found} ms by the slowest accepted submission, of {self.slowest_ms} ms\n")
            over = {"limits": {"timeMs": found}}
        different += self._each(others, over)
        kept = len(promised) - self.skipped - different
        self.out.write(f"{max(kept, 0)} as promised, {different} not{f', {self.skipped} not judged' if self.skipped else ''}\n")
        return EXIT_DIFFERENT if different or self.skipped == len(promised) else EXIT_AS_PROMISED

    def _inputs(self) -> int:
        """How many inputs the package's own input validators refuse."""
        if not isinstance(self.package, IcpcPackage):
            return 0
        refused = list(refused_inputs(self.trial, self.package))
        self.out.writelines(f"BAD  {sentence}\n" for sentence in refused)
        return len(refused)

    def _each(self, promised: list[Promised], over: Mapping[str, Any]) -> int:
        return sum(not self._one(one, over) for one in promised)

    def _one(self, promise: Promised, over: Mapping[str, Any]) -> bool:
        """Judge one and say how it went; whether it kept its promise."""
        if promise.language not in {*self.trial.toolchains.languages, output_only.LANGUAGE}:
            self.out.write(f"skip {promise.name}: not judged, there is no language for it on this machine\n")
            self.skipped += 1
            return True
        blobs = {name: Blob.of_file(path) for name, path in promise.files.items()}
        try:
            with holding(*blobs.values()):
                source = blobs[promise.source]
                others = {name: blob for name, blob in blobs.items() if name != promise.source}
                submission = Submission(source, promise.source, str(promise.language), others)
                judge = KINDS[self.problem_type].judge(self.trial)
                judgement = judge.judge(self.package, thoroughly(self.problem_type, over), submission)
        except InfrastructureFailure as failure:
            self.out.write(f"BAD  {promise.name}: {failure}\n")
            return False
        return self._say(promise, judgement)

    def _say(self, promise: Promised, judgement: Judgement) -> bool:
        broken = promise.check(judgement)
        slowest = max((one.time_ms for one in judgement.tests), default=0)
        if promise.accepted:
            self.slowest_ms = max(self.slowest_ms, slowest)
        said = f"{judgement.verdict}, {judgement.score:g} of {judgement.max_score:g}, {slowest} ms"
        self.out.write(f"{'BAD ' if broken else 'ok  '} {promise.name}: {said}{''.join(f'; {one}' for one in broken)}\n")
        return not broken
