"""Whether a package's inputs are what its own input validators take."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace

from runners.agent.blob import Blob, holding
from runners.agent.box import Ended
from runners.agent.icpc.data import Case
from runners.agent.icpc.package import Package
from runners.agent.icpc.validators import Validator
from runners.agent.icpc.verdicts import ACCEPT
from runners.agent.printable import first_line
from runners.agent.programs import Program
from runners.agent.trial import Trial


def refused_inputs(trial: Trial, package: Package) -> Iterator[str]:
    """A sentence for each input that a validator does not take. Raises InfrastructureFailure for one that does not compile."""
    for validator in package.input_validators:
        with contextlib.closing(trial.bench.made(validator.recipe, trial.cancelled)) as program:
            for case in package.cases:
                said = _refusal(trial, package, validator, program, case)
                if said is not None:
                    yield f"{case.name}.in: not accepted by the input validator {validator.name}: {said}"


def _refusal(trial: Trial, package: Package, validator: Validator, program: Program, case: Case) -> str | None:
    given = Blob.of_file(case.input)
    flags = case.input_flags.get(validator.name, ()) if isinstance(case.input_flags, Mapping) else case.input_flags
    with holding(given):
        command = trial.jury_command(program, {}, *flags, *case.args, limits=package.limits.validation)
        outcome = trial.box.run(replace(command, stdin=given), trial.cancelled)
    with contextlib.closing(outcome):
        if outcome.ended is Ended.EXITED and outcome.status == ACCEPT:
            return None
        said = first_line(outcome.stderr) or first_line(outcome.stdout.read(8192))
        return f"{outcome.ended} with {outcome.status}; {said}"
