"""Judging one submission against one ICPC package."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from runners.agent.blob import Blob, holding
from runners.agent.errors import Interrupted
from runners.agent.icpc import TYPE
from runners.agent.icpc.data import SAMPLE, SECRET
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
        with contextlib.closing(built.program) as program:
            tests = self._tests(package, limits, program, to_the_end=package.wants_all_tests(over))
        present = {one.test.group for one in tests}
        groups = [group for group in (Group(SAMPLE, 0, examples=True), Group(SECRET, 1)) if group.group in present]
        return replace(judgement, verdict=overall(tests), tests=tests, groups=tuple(score_group(group, tests) for group in groups))

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

    def _tests(self, package: Package, limits: RunLimits, program: Program, *, to_the_end: bool) -> tuple[Judged, ...]:
        """In order, up to the first that fails: it decides. `to_the_end` the others are run as well."""
        judged: list[Judged] = []
        with contextlib.ExitStack() as stack:
            bout = self._bout(package, limits, program, stack)
            for done, case in enumerate(package.cases):
                self.progress(done, len(package.cases))
                if self.cancelled():
                    raise Interrupted
                over = not to_the_end and bool(judged) and (judged[-1].failed or judged[-1].verdict is None)
                judged.append(Judged(case, None, reason="an earlier test failed") if over else bout.judged(case))
        self.progress(len(package.cases), len(package.cases))
        return tuple(judged)

    def _bout(self, package: Package, limits: RunLimits, program: Program, stack: contextlib.ExitStack) -> Bout:
        validators = {}
        for validator in package.validators:
            made = self.bench.made(validator.recipe, self.cancelled)
            stack.callback(made.close)
            validators[validator.name] = made
        trial = Trial(self.box, self.toolchains, self.bench, self.cancelled, self.progress)
        return Bout(trial, package, limits, program, validators)
