"""`agent verify PACKAGE`: judge the jury's own submissions and compare with what their folders promise.

Submissions lie in `submissions/<folder>/`, the folder's name being a verdict in lower case with
underscores, as in the Kattis format: `accepted`, `wrong_answer`, `time_limit_exceeded`, ….
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from runners.agent.archive import unpack
from runners.agent.blob import Blob, holding
from runners.agent.box import BoxSettings, open_box
from runners.agent.cache import Cache
from runners.agent.errors import InfrastructureFailure, Invalid
from runners.agent.judgement import Submission
from runners.agent.jury import Bench
from runners.agent.languages import find_toolchains
from runners.agent.standard_io.judge import Judge
from runners.agent.standard_io.package import Package, read_package
from runners.agent.verdicts import Verdict

PROMISES = {
    "accepted": Verdict.ACCEPTED,
    "partial": Verdict.PARTIAL,
    "partially_accepted": Verdict.PARTIAL,
    "wrong_answer": Verdict.WRONG_ANSWER,
    "time_limit_exceeded": Verdict.TIME_LIMIT,
    "memory_limit_exceeded": Verdict.MEMORY_LIMIT,
    "output_limit_exceeded": Verdict.OUTPUT_LIMIT,
    "run_time_error": Verdict.RUNTIME_ERROR,
    "runtime_error": Verdict.RUNTIME_ERROR,
    "compilation_error": Verdict.COMPILATION_ERROR,
    "compile_error": Verdict.COMPILATION_ERROR,
}
EXIT_AS_PROMISED, EXIT_DIFFERENT = 0, 1


@dataclass(frozen=True, slots=True)
class Promised:
    """A submission and what it should get; None when its folder promises nothing known."""

    path: Path
    verdict: Verdict | None


def verify(package: Path, settings: BoxSettings, out: TextIO) -> int:
    """Write a line a submission. 1 when the package is invalid, holds no submission, or one differs."""
    try:
        with _unpacked(package, settings.scratch.parent) as folder:
            return _judge_all(read_package(folder), settings, out)
    except Invalid as error:
        out.writelines(f"{fault}\n" for fault in error.faults)
        return EXIT_DIFFERENT


@contextlib.contextmanager
def _unpacked(package: Path, scratch: Path) -> Iterator[Path]:
    if package.is_dir():
        yield package
        return
    if not package.is_file():
        raise Invalid("package", [f"{package}: there is no such file or folder"])
    folder = scratch / "package"
    folder.mkdir(parents=True)
    unpack(package, folder)
    yield folder


def promised(root: Path) -> list[Promised]:
    """The submissions of a package, in order."""
    files = sorted(path for path in (root / "submissions").glob("*/*") if path.is_file() and not path.name.startswith("."))
    return [Promised(path, PROMISES.get(path.parent.name.lower())) for path in files]


def _judge_all(package: Package, settings: BoxSettings, out: TextIO) -> int:
    out.writelines(f"note: {note}\n" for note in package.notes)
    submissions = promised(package.root)
    if not submissions:
        out.write("submissions/: there are none to judge\n")
        return EXIT_DIFFERENT
    box, toolchains = open_box(settings), find_toolchains()
    cache = Cache(settings.scratch.parent / "cache").open()
    judge = Judge(box, toolchains, Bench(box, toolchains, cache), lambda: False)
    different = sum(not _one(judge, package, submission, out) for submission in submissions)
    out.write(f"{len(submissions) - different} as promised, {different} not\n")
    return EXIT_DIFFERENT if different else EXIT_AS_PROMISED


def _one(judge: Judge, package: Package, promise: Promised, out: TextIO) -> bool:
    """Judge one and say how it went; whether it kept its promise."""
    name = f"{promise.path.parent.name}/{promise.path.name}"
    language = judge.toolchains.by_extension(promise.path.name)
    if promise.verdict is None or language is None:
        out.write(f"BAD  {name}: {'no such verdict' if promise.verdict is None else 'no language for this name'}\n")
        return False
    source = Blob.of_file(promise.path)
    try:
        with holding(source):
            judgement = judge.judge(package, {}, Submission(source, promise.path.name, language.id))
    except InfrastructureFailure as failure:
        out.write(f"BAD  {name}: {failure}\n")
        return False
    good = judgement.verdict is promise.verdict
    slowest = max((one.time_ms for one in judgement.tests), default=0)
    said = f"{judgement.verdict}, {judgement.score:g} of {judgement.max_score:g}, {slowest} ms"
    out.write(f"{'ok  ' if good else 'BAD '} {name}: {said}{'' if good else f'; promised {promise.verdict}'}\n")
    return good
