"""The problem types this runner judges: how a package of each is read, and who judges by it.

The one table: the agent registers with its names, and whoever takes packages from people asks `look_over`
what is wrong with one before it is used.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

from runners.agent import icpc, output_only, standard_io
from runners.agent.archive import unpack
from runners.agent.errors import Invalid
from runners.agent.icpc.judge import Judge as IcpcJudge
from runners.agent.icpc.package import read_package as read_icpc
from runners.agent.judgement import Judgement, Submission
from runners.agent.output_only.judge import Judge as AnswersJudge
from runners.agent.output_only.package import read_package as read_answers
from runners.agent.standard_io.judge import Judge as StandardJudge
from runners.agent.standard_io.package import read_package as read_standard
from runners.agent.trial import Trial


class Readable(Protocol):
    """What packages of all types have in common."""

    @property
    def root(self) -> Path: ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What whoever made the package should know, though it can be judged."""

    def configured(self, over: Mapping[str, Any]) -> object:
        """What is to be judged by, a job's configuration laid over the package's own. Raises Invalid."""


class Judging(Protocol):
    """A judge of one type, made for one job."""

    def judge(self, package: Any, over: Mapping[str, Any], submission: Submission) -> Judgement:
        """Raises InfrastructureFailure when there can be no verdict, Interrupted when told to stop."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One problem type."""

    read: Callable[[Path, tuple[str, ...]], Readable]
    """An unpacked package and the notes of the unpacking. Raises Invalid with every fault found."""

    judge: Callable[[Trial], Judging]


def _standard(trial: Trial) -> Judging:
    return StandardJudge(trial.box, trial.toolchains, trial.bench, trial.cancelled, trial.progress)


def _answers(trial: Trial) -> Judging:
    return AnswersJudge(trial.box, trial.toolchains, trial.bench, trial.cancelled, trial.progress)


def _icpc(trial: Trial) -> Judging:
    return IcpcJudge(trial.box, trial.toolchains, trial.bench, trial.cancelled, trial.progress)


KINDS: Mapping[str, Kind] = {
    standard_io.TYPE: Kind(lambda root, notes: read_standard(root, notes=notes), _standard),
    output_only.TYPE: Kind(lambda root, notes: read_answers(root, notes=notes), _answers),
    icpc.TYPE: Kind(lambda root, notes: read_icpc(root, notes=notes), _icpc),
}


@dataclass(frozen=True, slots=True)
class Looked:
    """What is to be said of a package."""

    faults: tuple[str, ...]
    """It cannot be judged while there is one."""

    notes: tuple[str, ...]


def look_over(package: IO[bytes], problem_type: str) -> Looked | None:
    """Read a zipped package as its problem type does, without judging anything. None for a type nobody here knows."""
    kind = KINDS.get(problem_type)
    if kind is None:
        return None
    with tempfile.TemporaryDirectory(prefix="assize-package-") as folder:
        try:
            notes = unpack(package, Path(folder))
            return Looked((), kind.read(Path(folder), notes).notes)
        except Invalid as error:
            return Looked(error.faults, ())
        except OSError as error:
            return Looked((f"it could not be unpacked here, which is not its fault: {error.strerror}",), ())
