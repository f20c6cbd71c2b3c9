"""Judging one submission against one `standard-io@1` package."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from runners.agent.blame import Bad, interactor_first, misbehaved
from runners.agent.blob import Blob, holding
from runners.agent.box import Outcome
from runners.agent.compare import compare_tokens
from runners.agent.errors import Interrupted
from runners.agent.judgement import Judged, Judgement, RunLimits, Submission, Test
from runners.agent.jury import BROKEN_PIPE, Word, word_of
from runners.agent.languages import Language
from runners.agent.programs import Program
from runners.agent.scoring import overall, score_group
from runners.agent.standard_io import TYPE
from runners.agent.standard_io.config import Config
from runners.agent.standard_io.package import Package
from runners.agent.trial import Trial, known_language
from runners.agent.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class Judge(Trial):
    """Judges submissions in one box."""

    def judge(self, package: Package, over: Mapping[str, Any], submission: Submission) -> Judgement:
        """Raises InfrastructureFailure when there can be no verdict, Interrupted when told to stop."""
        config = package.configured(over)
        language = known_language(submission.language)
        limits = config.limits_for(None, family=language.family, language=language.id)
        judgement = Judgement(TYPE, Verdict.ACCEPTED, config.max_score, limits)
        if not config.allowance.allows(family=language.family, language=language.id):
            return replace(judgement, verdict=Verdict.POLICY_VIOLATION, reason=f"{language.id} is not allowed here")
        built = self.compile(language, submission)
        judgement = replace(judgement, compiled=built.program is not None, compiler_log=built.log)
        if built.program is None:
            return replace(judgement, verdict=Verdict.COMPILATION_ERROR)
        with contextlib.closing(built.program) as program:
            tests = self._tests(package, config, program)
        groups = tuple(score_group(group, tests) for group in config.groups)
        return replace(judgement, verdict=overall(tests), tests=tests, groups=groups)

    def _tests(self, package: Package, config: Config, program: Program) -> tuple[Judged, ...]:
        """In order. The rest of a group that has failed is skipped: its points are gone whatever it would do."""
        judged: list[Judged] = []
        failed: set[int | str] = set()
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
            command = replace(self.start(program, limits), stdin=given)
            outcome = self.steadily(lambda: (self.box.run(command, self.cancelled),))[0]
            with contextlib.closing(outcome):
                if bad := misbehaved(outcome, limits):
                    return _judged(test, outcome, bad)
                answer = Blob.of_file(test.answer) if test.answer else Blob.of(b"")
                with holding(answer):
                    if checker is None:
                        return _compared(test, outcome, answer)
                    return _by_word(test, outcome, self.check(checker, given, outcome.stdout, answer), "checker")

    def _dialogue(self, test: Test, limits: RunLimits, program: Program, interactor: Program) -> Judged:
        given = Blob.of_file(test.input)
        answer = Blob.of_file(test.answer) if test.answer else Blob.of(b"")
        with holding(given, answer):
            # A participant that leaves early must not be able to break the jury's program: its word on that is a refusal.
            mine = replace(self.start(program, limits), spares_writer=True)
            theirs = self.jury_command(interactor, {"input": given, "answer": answer}, extra_wall_ms=mine.limits.wall_ms)
            outcome, other = self.steadily(lambda: self.box.converse(mine, theirs, self.cancelled))
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


def _judged(test: Test, outcome: Outcome, bad: Bad) -> Judged:
    return Judged(test, bad[0], time_ms=outcome.cpu_ms, memory_bytes=outcome.memory_bytes, reason=bad[1])


def _compared(test: Test, outcome: Outcome, answer: Blob) -> Judged:
    difference = compare_tokens(outcome.stdout, answer)
    if difference is not None:
        return _judged(test, outcome, (Verdict.WRONG_ANSWER, str(difference)))
    return Judged(test, Verdict.ACCEPTED, share=1, time_ms=outcome.cpu_ms, memory_bytes=outcome.memory_bytes)


def _by_word(test: Test, outcome: Outcome, word: Word, role: str) -> Judged:
    log = f"{role}: {word.said}" if word.said else ""
    return Judged(test, word.verdict, word.share, outcome.cpu_ms, outcome.memory_bytes, word.reason(role), log)
