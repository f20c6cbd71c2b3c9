"""Judging one submission against one ICPC package."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from runners.agent.blob import Blob, holding
from runners.agent.errors import InfrastructureFailure, Interrupted
from runners.agent.icpc import TYPE
from runners.agent.icpc.data import SAMPLE, SECRET, Case
from runners.agent.icpc.folders import OutOfRange, Round, final
from runners.agent.icpc.package import Package
from runners.agent.icpc.passes import Bout
from runners.agent.icpc.validators import ENTRIES
from runners.agent.judgement import Group, Judged, Judgement, RunLimits, Submission
from runners.agent.languages import Language
from runners.agent.programs import Built, Program
from runners.agent.scoring import overall, score_group
from runners.agent.trial import Trial, known_language
from runners.agent.verdicts import Verdict

CODES = {"python": "python3"}
"""The format's codes of our families, where they differ."""


@dataclass(frozen=True, slots=True)
class Judge(Trial):
    """Judges submissions in one box."""

    def judge(self, package: Package, over: Mapping[str, Any], submission: Submission) -> Judgement:
        """Raises InfrastructureFailure when there can be no verdict, Interrupted when told to stop."""
        allowance = package.configured(over)
        language = known_language(submission.language)
        limits = allowance.limits_of(family=language.family, language=language.id)
        judgement = Judgement(TYPE, Verdict.ACCEPTED, 1, limits)
        if not allowance.allows(family=language.family, language=language.id):
            return replace(judgement, verdict=Verdict.POLICY_VIOLATION, reason=f"{language.id} is not allowed here")
        built = self._built(package, language, submission)
        judgement = replace(judgement, compiled=built.program is not None, compiler_log=built.log)
        if built.program is None:
            return replace(judgement, verdict=Verdict.COMPILATION_ERROR)
        with contextlib.closing(built.program) as program, contextlib.ExitStack() as stack:
            bout = self._bout(package, limits, program, stack)
            judged = self._scored if package.metadata.scoring else self._passed
            return judged(judgement, package, bout, to_the_end=package.wants_all_tests(over))

    def _passed(self, judgement: Judgement, package: Package, bout: Bout, *, to_the_end: bool) -> Judgement:
        """Up to the first test that fails: it decides."""
        failed = False
        tests: list[Judged] = []
        for case in package.cases:
            tests.append(self._test(bout, case, skipped=failed and not to_the_end))
            failed = failed or tests[-1].failed
        self.progress(len(package.cases), len(package.cases))
        present = {one.test.group for one in tests}
        groups = [group for group in (Group(SAMPLE, 0, examples=True), Group(SECRET, 1)) if group.group in present]
        scores = tuple(score_group(group, tests) for group in groups)
        return replace(judgement, verdict=overall(tests), tests=tuple(tests), groups=scores)

    def _scored(self, judgement: Judgement, package: Package, bout: Bout, *, to_the_end: bool) -> Judgement:
        """As the folders say. Raises InfrastructureFailure for a score that they exclude."""
        by_validator = package.metadata.by_validator
        turn = Round(lambda case, over: self._test(bout, case, skipped=over and not to_the_end), by_validator)
        try:
            grade = turn.of(package.root_folder)
        except OutOfRange as error:
            raise InfrastructureFailure(str(error)) from error
        self.progress(len(package.cases), len(package.cases))
        most = package.root_folder.bounds(by_validator=by_validator)[1]
        verdict, score = final(grade, most, turn.tests)
        return replace(judgement, verdict=verdict, tests=tuple(turn.tests), groups=tuple(turn.groups), max_score=most, total=score)

    def _test(self, bout: Bout, case: Case, *, skipped: bool) -> Judged:
        self.progress(case.number - 1, len(bout.package.cases))
        if self.cancelled():
            raise Interrupted
        return Judged(case, None, reason="an earlier test failed") if skipped else bout.judged(case)

    def _built(self, package: Package, language: Language, submission: Submission) -> Built:
        """Compiled together with what the package includes, which may be what is started."""
        included = package.included(CODES.get(language.family, language.family))
        blobs = {name: Blob.of_file(path) for name, path in included.items()}
        with holding(*blobs.values()):
            files = dict(submission.others) | {submission.file_name: submission.source} | blobs
            name = submission.file_name
            if language.keep is None:
                name = next((entry for entry in ENTRIES.get(language.family, ()) if entry in blobs), name)
            source = files.pop(name)
            return self.compile(language, Submission(source, name, submission.language, files))

    def _bout(self, package: Package, limits: RunLimits, program: Program, stack: contextlib.ExitStack) -> Bout:
        validators = {}
        for validator in package.validators:
            made = self.bench.made(validator.recipe, self.cancelled)
            stack.callback(made.close)
            validators[validator.name] = made
        trial = Trial(self.box, self.toolchains, self.bench, self.cancelled, self.progress)
        return Bout(trial, package, limits, program, validators)
