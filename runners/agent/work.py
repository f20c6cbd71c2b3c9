"""From a claimed job to what is reported about it. Knows no transport: files come from whoever claimed it."""

from __future__ import annotations

import contextlib
import json
import logging
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runners.agent import VERSION
from runners.agent.archive import unpack
from runners.agent.blob import Blob, Capture, holding
from runners.agent.box import Box, Cancelled
from runners.agent.cache import Cache
from runners.agent.details import compilation, details, log
from runners.agent.errors import AgentError, InfrastructureFailure
from runners.agent.job import Claim, File
from runners.agent.judgement import Judgement, Progress, Submission
from runners.agent.jury import Bench
from runners.agent.kinds import KINDS, Kind, Readable
from runners.agent.languages import Toolchains
from runners.agent.printable import printable
from runners.agent.spool import Finished
from runners.agent.trial import Trial

logger = logging.getLogger(__name__)
PROBLEM_TYPES = tuple(KINDS)
REASON_CHARACTERS = 4000
PROPS_LOG_CHARACTERS = 16 << 10
"""The whole document may have 256 KiB of JSON, in which one character can take six bytes."""


Fetch = Callable[[File, Path], None]
"""Bring a file of the job to a path, verified. Raises Interrupted or LeaseLost when the job is not ours any more."""


@dataclass(frozen=True, slots=True)
class Workshop:
    """All that judging needs of this machine."""

    box: Box
    toolchains: Toolchains
    cache: Cache

    def work(self, claim: Claim, fetch: Fetch, cancelled: Cancelled, progress: Progress) -> Finished:
        """Judge the job. Whatever is wrong with it becomes a failure with a reason; raises Interrupted when told to stop."""
        try:
            notes, judgement = self._judge(claim, fetch, cancelled, progress)
        except InfrastructureFailure as failure:
            return failed(claim, str(failure))
        except AgentError:
            raise
        except Exception as error:
            # A fault of ours or of the machine must come back to the queue with its name, not kill the agent.
            logger.exception("job %s could not be judged", claim.job_id)
            return failed(claim, f"the runner failed: {type(error).__name__}: {error}")
        return judged(claim, judgement, notes, isolated=self.box.isolated)

    def _judge(self, claim: Claim, fetch: Fetch, cancelled: Cancelled, progress: Progress) -> tuple[tuple[str, ...], Judgement]:
        kind = KINDS.get(claim.problem_type)
        if kind is None:
            raise InfrastructureFailure(f"this runner does not judge {claim.problem_type!r}")
        language, config, source = claim.language, claim.opaque("config"), claim.source
        with self._package(kind, claim.package, fetch) as package, contextlib.ExitStack() as stack:
            blob = stack.enter_context(self._source(source, fetch))
            others = {file.file_name: stack.enter_context(self._source(file, fetch)) for file in claim.beside}
            trial = Trial(self.box, self.toolchains, Bench(self.box, self.toolchains, self.cache), cancelled, progress)
            return package.notes, kind.judge(trial).judge(package, config, Submission(blob, source.file_name, language, others))

    @contextlib.contextmanager
    def _package(self, kind: Kind, file: File, fetch: Fetch) -> Iterator[Readable]:
        """The package's unpacked folder, from the cache when it was there before."""

        def make(folder: Path) -> None:
            zipped = folder / "package.zip"
            fetch(file, zipped)
            (folder / "content").mkdir()
            notes = unpack(zipped, folder / "content")
            (folder / "notes.json").write_text(json.dumps(notes))
            zipped.unlink()

        with self.cache.entry(f"package-{file.sha256.lower()}", make) as folder:
            yield kind.read(folder / "content", tuple(json.loads((folder / "notes.json").read_text())))

    @contextlib.contextmanager
    def _source(self, file: File, fetch: Fetch) -> Iterator[Blob]:
        """Straight into memory: it is small, and nobody will ask for it again."""
        capture = Capture()
        try:
            fetch(file, capture.path)
        except BaseException:
            capture.discard()
            raise
        blob = capture.seal()
        with holding(blob):
            yield blob


def failed(claim: Claim, reason: str) -> Finished:
    """A report that the job could not be judged, and why."""
    report = {"infrastructureFailure": True, "failureReason": printable(reason, REASON_CHARACTERS), "runnerVersion": VERSION}
    return Finished(claim.job_id, claim.lease_token, report, {})


def judged(claim: Claim, judgement: Judgement, notes: tuple[str, ...], *, isolated: bool) -> Finished:
    """The report of a verdict, with its two attachments."""
    report: dict[str, Any] = {
        "verdict": str(judgement.verdict),
        "score": judgement.score,
        "runnerVersion": VERSION,
        "props": props(claim, judgement),
    }
    if math.isfinite(judgement.max_score):
        report["maxScore"] = judgement.max_score
    if not isolated:
        report["extra"] = {"isolated": False}
    attachments = {
        "log": printable(log(judgement, notes), 1 << 20).encode(),
        "details": json.dumps(details(judgement), ensure_ascii=False).encode(),
    }
    return Finished(claim.job_id, claim.lease_token, report, attachments)


def props(claim: Claim, judgement: Judgement) -> Mapping[str, Any]:
    """For the participant: the costliest test, and what the compiler said."""
    document: dict[str, Any] = {
        "type": judgement.problem_type,
        "language": claim.language,
        "timeMs": max((one.time_ms for one in judgement.tests), default=0),
        "compilation": compilation(judgement, log_characters=PROPS_LOG_CHARACTERS),
    }
    memory = [one.memory_bytes for one in judgement.tests if one.memory_bytes is not None]
    if memory:
        document["memoryBytes"] = max(memory)
    if judgement.reason:
        document["reason"] = judgement.reason
    return document
