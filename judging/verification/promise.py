"""PURE: what is promised of a submission, as it is stored, and whether what runners say keeps it.

The words are the reference runner's, which knows packages; the server keeps them and understands none.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from runners.agent.details import judgement_of
from runners.agent.judgement import Judged, Judgement, RunLimits, Test
from runners.agent.promises import Demand, Promised, broken
from runners.agent.verdicts import Verdict


def stored(promised: Promised) -> str:
    """As JSON."""
    return json.dumps({"unclear": promised.unclear, "demands": [demand.document() for demand in promised.demands]})


def in_words(promise: str) -> str:
    """What is expected, for a table."""
    said = json.loads(promise)
    return str(said["unclear"]) or "; ".join(str(demand) for demand in _demands(said)) or "anything"


def not_kept(promise: str, verdict: str, details: bytes | None, log: bytes | None) -> list[str]:
    """What breaks the promise, in sentences. A runner that leaves no `details` of ours is taken by its verdict alone."""
    said = json.loads(promise)
    judgement = _judgement(verdict, details, log)
    if judgement is None:
        return [f"{verdict!r} is no verdict that a promise can be about"]
    return broken(_demands(said), said["unclear"], judgement)


def _demands(said: dict[str, Any]) -> Sequence[Demand]:
    return [Demand.read(document) for document in said["demands"]]


def _judgement(verdict: str, details: bytes | None, log: bytes | None) -> Judgement | None:
    try:
        word = Verdict(verdict)
    except ValueError:
        return None
    told = judgement_of(_document(details), (log or b"").decode(errors="replace"))
    if told is not None and told.verdict is word:
        return told
    whole = Judged(Test(1, "the whole", "", Path(), None), word)
    return Judgement("", word, 0, RunLimits(1, 1), tests=(whole,))


def _document(details: bytes | None) -> Any:
    try:
        return json.loads(details or b"")
    except (ValueError, RecursionError):
        return None
