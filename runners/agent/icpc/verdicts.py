"""What an output validator said, and who is to blame in a dialogue. Pure (see the package's calling convention)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from runners.agent.blame import Bad, misbehaved
from runners.agent.blob import Blob
from runners.agent.box import Ended, Outcome
from runners.agent.errors import InfrastructureFailure
from runners.agent.judgement import RunLimits
from runners.agent.jury import BROKEN_PIPE
from runners.agent.printable import first_line, printable
from runners.agent.verdicts import Verdict

ACCEPT, REJECT = 42, 43
FEEDBACK = "feedback"
MESSAGE, NEXT, SCORE = f"{FEEDBACK}/judgemessage.txt", f"{FEEDBACK}/nextpass.in", f"{FEEDBACK}/score.txt"
MESSAGE_CHARACTERS = 2000
REFUSED: Bad = (Verdict.WRONG_ANSWER, "refused by the output validator")


@dataclass(frozen=True, slots=True)
class Word:
    """A validator's judgement of one pass."""

    accepted: bool
    said: str
    """`judgemessage.txt`. For the jury only."""

    again: bool = False
    """Whether it left the input of another pass."""

    points: float | None = None
    """What it said the run is worth, where validators give points."""


def word_of(outcome: Outcome, name: str, *, multi_pass: bool = False, scoring: bool = False) -> Word:
    """Raises InfrastructureFailure for whatever is no judgement."""
    said = message(outcome)
    because = said or first_line(outcome.stderr)
    if outcome.ended is not Ended.EXITED:
        raise InfrastructureFailure(f"the output validator {name} was stopped: {outcome.ended}; {because}")
    if outcome.status not in {ACCEPT, REJECT}:
        raise InfrastructureFailure(f"the output validator {name} ended with {outcome.status}, which is no judgement; {because}")
    accepted, again = outcome.status == ACCEPT, multi_pass and NEXT in outcome.kept
    if again and not accepted:
        raise InfrastructureFailure(f"the output validator {name} rejected and asked for another pass")
    return Word(accepted, said, again, _points(outcome, name) if scoring else None)


def message(outcome: Outcome) -> str:
    """What the validator left for the jury, on one line."""
    blob: Blob | None = outcome.kept.get(MESSAGE)
    text = printable(blob.read(4 * MESSAGE_CHARACTERS), MESSAGE_CHARACTERS) if blob else ""
    return " | ".join(line.strip() for line in text.splitlines() if line.strip())


def _points(outcome: Outcome, name: str) -> float | None:
    """Of `score.txt`; None without one."""
    blob: Blob | None = outcome.kept.get(SCORE)
    if blob is None:
        return None
    text = blob.read(100).decode(errors="replace").strip()
    try:
        points = float(text)
    except ValueError:
        points = math.nan
    if not math.isfinite(points):
        raise InfrastructureFailure(f"the output validator {name} left a score.txt that is no number: {printable(text, 50)!r}")
    return points


def all_of(words: Sequence[Word]) -> Word:
    """Several validators must all accept."""
    said = " | ".join(word.said for word in words if word.said)
    points = [word.points for word in words if word.points is not None]
    return Word(all(word.accepted for word in words), said, any(word.again for word in words), points[-1] if points else None)


def blamed(outcome: Outcome, other: Outcome, word: Word, limits: RunLimits) -> Bad | None:
    """In a dialogue of a submission and a validator that gave its word. None when the submission passes."""
    if not word.accepted and other.ended_at < outcome.ended_at:
        return REFUSED
    wrote_too_late = outcome.ended is Ended.EXITED and outcome.status == BROKEN_PIPE
    bad = None if wrote_too_late else misbehaved(outcome, limits)
    return bad or (None if word.accepted else REFUSED)


def carried(kept: Mapping[str, Blob]) -> dict[str, Blob]:
    """What of the feedback directory stays for the next pass."""
    return {name: blob for name, blob in kept.items() if name != NEXT}
