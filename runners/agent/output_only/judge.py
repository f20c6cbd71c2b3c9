"""Judging answers against one `output-only@1` package."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from runners.agent.blob import Blob, holding
from runners.agent.compare import compare_tokens
from runners.agent.errors import InfrastructureFailure, Interrupted, Invalid
from runners.agent.judgement import Judged, Judgement, Submission, Test
from runners.agent.output_only import LANGUAGE, TYPE
from runners.agent.output_only.answers import Answers, TooLarge, Unreadable, opened
from runners.agent.programs import Program
from runners.agent.scoring import overall, score_group
from runners.agent.standard_io.config import Config
from runners.agent.standard_io.package import Package
from runners.agent.trial import Trial
from runners.agent.verdicts import Verdict

Decided = tuple[Verdict, str]


@dataclass(frozen=True, slots=True)
class Judge(Trial):
    """Judges answers; only a checker is ever run."""

    def judge(self, package: Package, over: Mapping[str, Any], submission: Submission) -> Judgement:
        """Raises InfrastructureFailure when there can be no verdict, Interrupted when told to stop."""
        config = package.configured(over)
        if submission.language != LANGUAGE:
            raise InfrastructureFailure(f"answers come in the language {LANGUAGE!r}, not {submission.language[:100]!r}")
        judgement = Judgement(TYPE, Verdict.ACCEPTED, config.max_score, config.allowance.limits)
        try:
            with opened(submission.source) as answers:
                tests = self._tests(package, config, answers)
        except Invalid as error:
            return replace(judgement, verdict=Verdict.COMPILATION_ERROR, compiled=False, compiler_log="\n".join(error.faults))
        groups = tuple(score_group(group, tests) for group in config.groups)
        return replace(judgement, verdict=overall(tests), tests=tests, groups=groups, compiler_log="\n".join(answers.notes))

    def _tests(self, package: Package, config: Config, answers: Answers) -> tuple[Judged, ...]:
        """All of them: nothing is saved by skipping, and a participant may want to know of each."""
        judged = []
        with contextlib.ExitStack() as stack:
            checker = None
            if config.checker:
                checker = self.bench.program(package.root / "checker", config.checker.source, config.checker.language, self.cancelled)
                stack.callback(checker.close)
            for done, test in enumerate(package.tests):
                self.progress(done, len(package.tests))
                if self.cancelled():
                    raise Interrupted
                judged.append(self._test(test, answers, config.allowance.limits.output_bytes, checker))
        self.progress(len(package.tests), len(package.tests))
        return tuple(judged)

    def _test(self, test: Test, answers: Answers, limit: int, checker: Program | None) -> Judged:
        try:
            said = answers.of(test.name, limit)
        except TooLarge:
            return Judged(test, Verdict.OUTPUT_LIMIT, reason=f"more than {limit} bytes")
        except Unreadable:
            return Judged(test, Verdict.WRONG_ANSWER, reason="the answer is damaged in the archive")
        if said is None:
            return Judged(test, Verdict.WRONG_ANSWER, reason="there is no answer")
        wanted = Blob.of_file(test.answer) if test.answer else Blob.of(b"")
        with holding(said, wanted):
            return self._compared(test, said, wanted) if checker is None else self._checked(test, said, wanted, checker)

    def _compared(self, test: Test, said: Blob, wanted: Blob) -> Judged:
        difference = compare_tokens(said, wanted)
        if difference is not None:
            return Judged(test, Verdict.WRONG_ANSWER, reason=str(difference))
        return Judged(test, Verdict.ACCEPTED, share=1)

    def _checked(self, test: Test, said: Blob, wanted: Blob, checker: Program) -> Judged:
        given = Blob.of_file(test.input)
        with holding(given):
            word = self.check(checker, given, said, wanted)
        return Judged(test, word.verdict, word.share, reason=word.reason("checker"), log=f"checker: {word.said}" if word.said else "")
