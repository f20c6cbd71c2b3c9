"""One test of an ICPC package: run and validated, in as many passes as its validator asks for."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from runners.agent.blame import Bad, misbehaved
from runners.agent.blob import Blob, holding
from runners.agent.box import Command, Outcome
from runners.agent.box.artefacts import BadArtefact
from runners.agent.errors import InfrastructureFailure
from runners.agent.icpc.compare import validate
from runners.agent.icpc.data import Case
from runners.agent.icpc.package import Package, default_flags
from runners.agent.icpc.verdicts import FEEDBACK, NEXT, REFUSED, Word, all_of, blamed, carried, word_of
from runners.agent.judgement import Judged, RunLimits
from runners.agent.programs import Program
from runners.agent.trial import Trial
from runners.agent.verdicts import Verdict

ANY_CODE = frozenset(range(256))
"""Also a validator that failed may have said why."""


@dataclass
class Pass:
    """One pass over one test, with what the next one starts from. Whoever made it closes it."""

    given: Blob
    feedback: Mapping[str, Blob]
    bad: Bad | None = None
    word: Word | None = None
    time_ms: int = 0
    memory_bytes: int | None = None

    def heard(self, outcome: Outcome) -> None:
        """What the submission used."""
        self.time_ms, self.memory_bytes = outcome.cpu_ms, outcome.memory_bytes

    def close(self) -> None:
        for blob in (self.given, *self.feedback.values()):
            blob.close()


@dataclass(frozen=True, slots=True)
class Bout:
    """A built submission against a package's tests."""

    trial: Trial
    package: Package
    limits: RunLimits
    program: Program
    validators: Mapping[str, Program]

    def judged(self, case: Case) -> Judged:
        """Raises InfrastructureFailure for a fault of the jury's."""
        turn, passes = Pass(Blob.of_file(case.input), {}), list[Pass]()
        for _ in range(self.package.limits.passes if self.package.metadata.multi_pass else 1):
            with contextlib.closing(turn):
                following = self._turn(case, turn)
            passes.append(turn)
            if following is None:
                return _summed(case, passes)
            turn = following
        turn.close()
        raise InfrastructureFailure(f"the output validator asks for more than {len(passes)} passes")

    def _turn(self, case: Case, turn: Pass) -> Pass | None:
        """Play one pass; answers what the next one starts from, None when there is none."""
        answer = Blob.of_file(case.answer) if case.answer else Blob.of(b"")
        files = {name: Blob.of_file(path) for name, path in case.files.items()}
        with holding(answer, *files.values()):
            command = self.trial.start(self.program, self.limits, *case.args)
            command = replace(command, files={**command.files, **files})
            play = self._dialogue if self.package.metadata.interactive else self._run
            kept = play(case, turn, command, answer)
        if turn.bad is None and turn.word and turn.word.again:
            return Pass(kept[NEXT], carried(kept))
        for blob in kept.values():
            blob.close()
        return None

    def _run(self, case: Case, turn: Pass, command: Command, answer: Blob) -> dict[str, Blob]:
        (outcome,) = self.trial.steadily(lambda: (self.trial.box.run(replace(command, stdin=turn.given), self.trial.cancelled),))
        with contextlib.closing(outcome):
            turn.heard(outcome)
            turn.bad = misbehaved(outcome, self.limits)
            if turn.bad:
                return {}
            if not self.validators:
                difference = validate(outcome.stdout, answer, default_flags(case))
                turn.bad = (Verdict.WRONG_ANSWER, str(difference)) if difference else None
                return {}
            return self._validated(case, turn, outcome.stdout, answer)

    def _validated(self, case: Case, turn: Pass, output: Blob, answer: Blob) -> dict[str, Blob]:
        """Every validator's word on an output; in multi-pass there is but one."""
        words: list[Word] = []
        kept: dict[str, Blob] = {}
        for name, validator in self.validators.items():
            command = replace(self._validation(validator, case, turn, answer), stdin=output)
            with _taken(name):
                (outcome,) = self.trial.steadily(lambda: (self.trial.box.run(command, self.trial.cancelled),))  # noqa: B023 - run at once
            words.append(self._word(outcome, name))
            kept = self._left(outcome)
        turn.word = all_of(words)
        turn.bad = None if turn.word.accepted else REFUSED
        return kept

    def _dialogue(self, case: Case, turn: Pass, command: Command, answer: Blob) -> dict[str, Blob]:
        ((name, validator),) = self.validators.items()
        mine = replace(command, spares_writer=True)
        theirs = self._validation(validator, case, turn, answer, extra_wall_ms=mine.limits.wall_ms)
        with _taken(name):
            outcome, other = self.trial.steadily(lambda: self.trial.box.converse(mine, theirs, self.trial.cancelled))
        with contextlib.closing(outcome):
            turn.heard(outcome)
            turn.word = self._word(other, name)
            turn.bad = blamed(outcome, other, turn.word, self.limits)
        return self._left(other)

    def _left(self, outcome: Outcome) -> dict[str, Blob]:
        """What a validator left for the next pass, if there can be one; the rest is closed."""
        if not self.package.metadata.multi_pass:
            outcome.close()
            return {}
        outcome.stdout.close()
        return dict(outcome.kept)

    def _word(self, outcome: Outcome, name: str) -> Word:
        try:
            said = self.package.metadata
            return word_of(outcome, name, multi_pass=said.multi_pass, scoring=said.scoring)
        except InfrastructureFailure:
            outcome.close()
            raise

    def _validation(self, validator: Program, case: Case, turn: Pass, answer: Blob, *, extra_wall_ms: int = 0) -> Command:
        """How a validator is run. Its input is what the submission was given in this pass."""
        data = {"input": turn.given, "answer": answer}
        limits = self.package.limits.validation
        arguments = (f"{FEEDBACK}/", *case.flags)
        command = self.trial.jury_command(validator, data, *arguments, limits=limits, extra_wall_ms=extra_wall_ms)
        return replace(
            command, folders=(FEEDBACK,), copies=turn.feedback, keep=FEEDBACK, keep_bytes=limits.output_bytes, keep_after=ANY_CODE
        )


@contextlib.contextmanager
def _taken(name: str) -> Iterator[None]:
    """What a validator leaves that cannot be taken is its own fault."""
    try:
        yield
    except BadArtefact as error:
        raise InfrastructureFailure(f"the output validator {name} left in its feedback directory what cannot be taken: {error}") from error


def _summed(case: Case, passes: list[Pass]) -> Judged:
    """Each pass has the whole limit, so the costliest counts."""
    last = passes[-1]
    said = " | ".join(turn.word.said for turn in passes[-1:] if turn.word and turn.word.said)
    memory = [turn.memory_bytes for turn in passes if turn.memory_bytes is not None]
    return Judged(
        case,
        last.bad[0] if last.bad else Verdict.ACCEPTED,
        share=0 if last.bad else 1,
        points=last.word.points if last.word and (last.bad is None or last.bad == REFUSED) else None,
        time_ms=max(turn.time_ms for turn in passes),
        memory_bytes=max(memory, default=None),
        reason=last.bad[1] if last.bad else "",
        log=said + (f"  pass {len(passes)}" if len(passes) > 1 else ""),
    )
