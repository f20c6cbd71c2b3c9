"""What a run earned by the way it ended, before anybody looks at its output. Pure."""

from __future__ import annotations

import signal

from runners.agent.box import Ended, Outcome
from runners.agent.judgement import RunLimits
from runners.agent.jury import BROKEN_PIPE
from runners.agent.verdicts import Verdict

Bad = tuple[Verdict, str]
"""A verdict and a reason that may be shown to the participant."""


def misbehaved(outcome: Outcome, limits: RunLimits) -> Bad | None:
    """The verdict of a run that broke a limit or crashed; None when it ended well."""
    match outcome.ended:
        case Ended.MEMORY:
            return Verdict.MEMORY_LIMIT, f"more than {limits.memory_bytes} bytes"
        case Ended.OUTPUT:
            return Verdict.OUTPUT_LIMIT, f"more than {limits.output_bytes} bytes"
        case Ended.CPU:
            return Verdict.TIME_LIMIT, f"more than {limits.time_ms} ms of CPU time"
        case Ended.IDLE:
            return Verdict.TIME_LIMIT, f"idle: not over after {outcome.wall_ms} ms, {outcome.cpu_ms} ms of them at work"
    return (Verdict.RUNTIME_ERROR, exit_reason(outcome.status)) if outcome.status else None


def interactor_first(outcome: Outcome, other: Outcome) -> bool:
    """Only an interactor that is gone breaks the submission's pipe, whatever the clock says of two ends so close."""
    return other.ended_at < outcome.ended_at or outcome.status == BROKEN_PIPE


def exit_reason(status: int) -> str:
    """`exit code 3`, or the signal's name when a shell would call it that."""
    if status > 128 and status - 128 in signal.Signals.__members__.values():
        return f"ended by {signal.Signals(status - 128).name}"
    return f"exit code {status}"
