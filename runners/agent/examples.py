"""The submissions that a package brings along, whatever its problem type, and what is promised of each.

They lie in `submissions/<folder>/`. In a package of ours the folder's name is a verdict in lower case with
underscores: `accepted`, `wrong_answer`, `time_limit_exceeded`, …; an ICPC package promises in its own ways.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from runners.agent import icpc, output_only
from runners.agent.archive import unpack
from runners.agent.icpc.examples import examples
from runners.agent.icpc.package import Package as IcpcPackage
from runners.agent.kinds import KINDS, Readable
from runners.agent.languages import TABLE
from runners.agent.promises import Demand, Promised
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


@contextlib.contextmanager
def opened(package: IO[bytes], problem_type: str, over: Mapping[str, Any]) -> Iterator[list[Promised]]:
    """The submissions of a zipped package, whose files are there while this is open, for those who send them in to be judged.

    Raises Invalid for a package that cannot be judged, and for one that cannot be with the configuration `over` it.
    """
    with tempfile.TemporaryDirectory(prefix="assize-package-") as folder:
        read = KINDS[problem_type].read(Path(folder), unpack(package, Path(folder)))
        read.configured(over)
        yield promised_by(read)


def thoroughly(problem_type: str, over: Mapping[str, Any]) -> Mapping[str, Any]:
    """The configuration by which a submission gets all that a promise may be about."""
    return {"allTests": True, **over} if problem_type == icpc.TYPE else over


def promised_by(package: Readable) -> list[Promised]:
    """Every submission of a package, in order. Raises Invalid when what describes them cannot be read."""
    return examples(package) if isinstance(package, IcpcPackage) else plainly_promised(package.root)


def plainly_promised(root: Path) -> list[Promised]:
    """The submissions of a package of ours, in order."""
    files = sorted(path for path in (root / "submissions").glob("*/*") if path.is_file() and not path.name.startswith("."))
    return [
        Promised(
            f"{path.parent.name}/{path.name}",
            path.name,
            {path.name: path},
            _language(path.suffix.lower()),
            *_promise(path.parent.name),
        )
        for path in files
    ]


def _language(extension: str) -> str | None:
    if extension == ".zip":
        return output_only.LANGUAGE
    return next((language.id for language in TABLE if extension in language.extensions), None)


def _promise(folder: str) -> tuple[tuple[Demand, ...], str]:
    wanted = PROMISES.get(folder.lower())
    return ((Demand(results=frozenset({wanted})),), "") if wanted else ((), "its folder's name is no verdict")
