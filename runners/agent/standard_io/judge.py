"""Judging one submission against one `standard-io@1` package."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any

from runners.agent.blob import Blob, holding
from runners.agent.box import Box, Cancelled, Command, Ended, Limits, Outcome
from runners.agent.compare import compare_tokens
from runners.agent.errors import InfrastructureFailure, Interrupted
from runners.agent.jury import BROKEN_PIPE, LIMITS, Bench, Word, word_of
from runners.agent.languages import TABLE, Language, Toolchains
from runners.agent.programs import Built, Program, Source, build, source_name
from runners.agent.standard_io.blame import Bad, interactor_first, misbehaved
from runners.agent.standard_io.config import Config, RunLimits
from runners.agent.standard_io.package import Package, Test
from runners.agent.standard_io.scoring import GroupScore, Judged, overall, score_group
from runners.agent.verdicts import Verdict

Progress = Callable[[int, int], None]
"""Called with the tests done and the tests in all."""


@dataclass(frozen=True, slots=True)
class Submission:
    """What a participant sent."""

    source: Blob
    file_name: str
    language: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """The whole result of one submission."""

    verdict: Verdict
    config: Config
    limits: RunLimits
    """The general limits for this language."""

    reason: str = ""
    compiled: bool | None = None
    """None when nothing was compiled."""

    compiler_log: str = ""
    tests: tuple[Judged, ...] = ()
    groups: tuple[GroupScore, ...] = ()

    @property
    def score(self) -> float:
        return sum(group.score for group in self.groups)

    @property
    def max_score(self) -> float:
        return sum(group.points for group in self.config.groups)


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges submissions in one box."""

    box: Box
    toolchains: Toolchains
    bench: Bench
    cancelled: Cancelled
    progress: Progress = field(default=lambda _done, _total: None)

    def judge(self, package: Package, over: Mapping[str, Any], submission: Submission) -> Judgement:
        """Raises InfrastructureFailure when there can be no verdict, Interrupted when told to stop."""
        config = package.configured(over)
        language = known_language(submission.language)
        limits = config.limits_for(None, family=language.family, language=language.id)
        if not config.allows(family=language.family, language=language.id):
            return Judgement(Verdict.POLICY_VIOLATION, config, limits, reason=f"{language.id} is not allowed here")
        if language.id not in self.toolchains.languages:
            raise InfrastructureFailure(f"this runner has no toolchain for {language.id!r}")
        built = self._compile(language, submission)
        if built.program is None:
            return Judgement(Verdict.COMPILATION_ERROR, config, limits, compiled=False, compiler_log=built.log)
        with contextlib.closing(built.program) as program:
            tests = self._tests(package, config, program)
        groups = tuple(score_group(group, tests) for group in config.groups)
        return Judgement(overall(tests), config, limits, compiled=True, compiler_log=built.log, tests=tests, groups=groups)

    def _compile(self, language: Language, submission: Submission) -> Built:
        name = source_name(submission.file_name or f"main{language.extensions[0]}", language)
        extension = PurePosixPath(name).suffix
        if extension.lower() not in language.extensions:
            return Built(None, f"{language.id} takes {', '.join(language.extensions)}, not {extension or 'a name without extension'!r}")
        return build(self.box, self.toolchains, language, Source(name, {name: submission.source}), self.cancelled)

    def _tests(self, package: Package, config: Config, program: Program) -> tuple[Judged, ...]:
        """In order. The rest of a group that has failed is skipped: its points are gone whatever it would do."""
        judged: list[Judged] = []
        failed: set[int] = set()
        with contextlib.ExitStack() as stack:
            attempt = self._attempt(package, config, program, stack)
            for done, test in enumerate(package.tests):
                self.progress(done, len(package.tests))
                if self.cancelled():
                    raise Interrupted
                one = Judged(test, None, reason="an earlier test of the group failed") if test.group in failed else attempt(test)
                judged.append(one)
                if one.failed:
                    failed.add(test.group)
        self.progress(len(package.tests), len(package.tests))
        return tuple(judged)

    def _attempt(self, package: Package, config: Config, program: Program, stack: contextlib.ExitStack) -> Callable[[Test], Judged]:
        """How one test is judged in this package: by a dialogue, by a checker, or by comparing tokens."""
        groups = {group.group: group for group in config.groups}
        language = program.language

        def limits(test: Test) -> RunLimits:
            return config.limits_for(groups[test.group], family=language.family, language=language.id)

        if config.interactor:
            other = self.bench.program(package.root / "interactor", config.interactor.source, config.interactor.language, self.cancelled)
            stack.callback(other.close)
            return lambda test: self._dialogue(test, limits(test), program, other)
        checker = None
        if config.checker:
            checker = self.bench.program(package.root / "checker", config.checker.source, config.checker.language, self.cancelled)
            stack.callback(checker.close)
        return lambda test: self._run(test, limits(test), program, checker)

    def _run(self, test: Test, limits: RunLimits, program: Program, checker: Program | None) -> Judged:
        given = Blob.of_file(test.input)
        with holding(given):
            command = replace(self._start(program, limits), stdin=given)
            outcome = self._steadily(lambda: (self.box.run(command, self.cancelled),))[0]
            with contextlib.closing(outcome):
                if bad := misbehaved(outcome, limits):
                    return _judged(test, outcome, bad)
                answer = Blob.of_file(test.answer) if test.answer else Blob.of(b"")
                with holding(answer):
                    if checker is None:
                        return _compared(test, outcome, answer)
                    return _by_word(test, outcome, self._check(checker, given, outcome.stdout, answer), "checker")

    def _check(self, checker: Program, given: Blob, output: Blob, answer: Blob) -> Word:
        data = {"input": given, "output": output, "answer": answer}
        outcome = self.box.run(self._jury_command(checker, data), self.cancelled)
        with contextlib.closing(outcome):
            return word_of(outcome, checker.language, "checker")

    def _dialogue(self, test: Test, limits: RunLimits, program: Program, interactor: Program) -> Judged:
        given = Blob.of_file(test.input)
        answer = Blob.of_file(test.answer) if test.answer else Blob.of(b"")
        with holding(given, answer):
            mine = self._start(program, limits)
            theirs = self._jury_command(interactor, {"input": given, "answer": answer}, extra_wall_ms=mine.limits.wall_ms)
            outcome, other = self._steadily(lambda: self.box.converse(mine, theirs, self.cancelled))
        with contextlib.closing(outcome), contextlib.closing(other):
            return self._dialogue_judged(test, limits, outcome, other, interactor.language)

    def _dialogue_judged(self, test: Test, limits: RunLimits, outcome: Outcome, other: Outcome, language: Language) -> Judged:
        """Who ended first decides: see the package's calling convention."""
        bad = misbehaved(outcome, limits)
        if not interactor_first(outcome, other):
            if bad:
                return _judged(test, outcome, bad)
            if other.status == BROKEN_PIPE:
                return _judged(test, outcome, (Verdict.WRONG_ANSWER, "ended before the dialogue did"))
        word = word_of(other, language, "interactor")
        return _judged(test, outcome, bad) if bad and not word.refused else _by_word(test, outcome, word, "interactor")

    def _start(self, program: Program, limits: RunLimits) -> Command:
        argv = program.command(self.toolchains, limits.memory_bytes)
        return Command(argv, Limits(limits.time_ms, limits.memory_bytes, limits.output_bytes), files=program.files)

    def _jury_command(self, program: Program, data: Mapping[str, Blob], *, extra_wall_ms: int = 0) -> Command:
        argv = (*program.command(self.toolchains, LIMITS.memory_bytes), *data)
        return Command(argv, replace(LIMITS, extra_wall_ms=extra_wall_ms), files=program.files, data=data)

    def _steadily(self, run: Callable[[], tuple[Outcome, ...]]) -> tuple[Outcome, ...]:
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


def _judged(test: Test, outcome: Outcome, bad: Bad) -> Judged:
    return Judged(test, bad[0], time_ms=outcome.cpu_ms, memory_bytes=outcome.memory_bytes, reason=bad[1])


def _compared(test: Test, outcome: Outcome, answer: Blob) -> Judged:
    difference = compare_tokens(outcome.stdout, answer)
    if difference is not None:
        return _judged(test, outcome, (Verdict.WRONG_ANSWER, str(difference)))
    return Judged(test, Verdict.ACCEPTED, share=1, time_ms=outcome.cpu_ms, memory_bytes=outcome.memory_bytes)


def _by_word(test: Test, outcome: Outcome, word: Word, role: str) -> Judged:
    verdict = Verdict.WRONG_ANSWER if word.refused else Verdict.ACCEPTED if word.share >= 1 else Verdict.PARTIAL
    reason = {Verdict.WRONG_ANSWER: f"refused by the {role}", Verdict.PARTIAL: "worth a part of the points"}.get(verdict, "")
    log = f"{role}: {word.said}" if word.said else ""
    return Judged(test, verdict, word.share, outcome.cpu_ms, outcome.memory_bytes, reason, log)
