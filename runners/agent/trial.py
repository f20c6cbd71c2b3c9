"""What every judge does with its box: compile a submission, run it steadily, run the jury's programs beside it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from runners.agent.blob import Blob
from runners.agent.box import Box, Cancelled, Command, Ended, Limits, Outcome
from runners.agent.errors import InfrastructureFailure
from runners.agent.judgement import Progress, RunLimits, Submission
from runners.agent.jury import LIMITS, Bench, Word, word_of
from runners.agent.languages import TABLE, Language, Toolchains
from runners.agent.programs import ENVIRON, Built, Program, Source, build, source_name


@dataclass(frozen=True, slots=True)
class Trial:
    """A box, the means of this machine, and who is to be told."""

    box: Box
    toolchains: Toolchains
    bench: Bench
    cancelled: Cancelled
    progress: Progress = field(default=lambda _done, _total: None)

    def compile(self, language: Language, submission: Submission) -> Built:
        """The program, or none and why. Raises InfrastructureFailure when this machine lacks the language."""
        if language.id not in self.toolchains.languages:
            raise InfrastructureFailure(f"this runner has no toolchain for {language.id!r}")
        name = source_name(submission.file_name or f"main{language.extensions[0]}", language)
        extension = PurePosixPath(name).suffix
        if extension.lower() not in language.extensions:
            return Built(None, f"{language.id} takes {', '.join(language.extensions)}, not {extension or 'a name without extension'!r}")
        files = {name: submission.source} | dict(submission.others)
        # What is interpreted finds its other files by itself.
        compiled = [other for other in files if other != name and PurePosixPath(other).suffix.lower() in language.extensions]
        source = Source(name, files, tuple(compiled) if language.keep else ())
        return build(self.box, self.toolchains, language, source, self.cancelled)

    def start(self, program: Program, limits: RunLimits, *arguments: str) -> Command:
        """How the submission is run."""
        argv = (*program.command(self.toolchains, limits.memory_bytes), *arguments)
        return Command(argv, Limits(limits.time_ms, limits.memory_bytes, limits.output_bytes), files=program.files)

    def jury_command(
        self, program: Program, data: Mapping[str, Blob], *arguments: str, limits: Limits | None = None, extra_wall_ms: int = 0
    ) -> Command:
        """How a program of the jury's is run: the names of `data` first, then `arguments`."""
        limits = limits or LIMITS
        argv = (*program.command(self.toolchains, limits.memory_bytes), *data, *arguments)
        return Command(argv, replace(limits, extra_wall_ms=extra_wall_ms), files=program.files, data=data, environ=ENVIRON)

    def check(self, checker: Program, given: Blob, output: Blob, answer: Blob) -> Word:
        """What a checker says of an output. Raises InfrastructureFailure for what is no judgement."""
        data = {"input": given, "output": output, "answer": answer}
        outcome = self.box.run(self.jury_command(checker, data), self.cancelled)
        with contextlib.closing(outcome):
            return word_of(outcome, checker.language, "checker")

    def steadily(self, run: Callable[[], tuple[Outcome, ...]]) -> tuple[Outcome, ...]:
        """A run that mostly waited for a processor says nothing of the program: once more, then it is the machine's fault."""
        for _ in range(2):
            outcomes = run()
            if all(outcome.ended is not Ended.STARVED for outcome in outcomes):
                return outcomes
            for outcome in outcomes:
                outcome.close()
        raise InfrastructureFailure("machine overloaded: a run got too little of a processor, twice")


def known_language(identifier: str) -> Language:
    """The table's entry. Raises InfrastructureFailure for an id nobody here knows."""
    for language in TABLE:
        if language.id == identifier:
            return language
    raise InfrastructureFailure(f"unknown language {identifier[:100]!r}")
