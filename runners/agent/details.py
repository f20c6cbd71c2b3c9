"""The `details` and `log` attachments of a judgement (runner-agent §2). The expected answer never appears in `details`."""

from __future__ import annotations

from typing import Any

from runners.agent.judgement import GroupScore, Judged, Judgement
from runners.agent.printable import printable
from runners.agent.programs import LOG_CHARACTERS

NOTES = 50


def details(judgement: Judgement) -> dict[str, Any]:
    """For the participant and the jury alike: what was run, how it ended, what it was worth."""
    document: dict[str, Any] = {
        "type": judgement.problem_type,
        "verdict": str(judgement.verdict),
        "limits": judgement.limits.document(),
        "score": judgement.score,
        "maxScore": judgement.max_score,
        "compilation": compilation(judgement),
        "groups": [_group(group) for group in judgement.groups],
        "tests": _tests(judgement),
    }
    return document | ({"reason": judgement.reason} if judgement.reason else {})


def compilation(judgement: Judgement, *, log_characters: int = LOG_CHARACTERS) -> dict[str, str]:
    """`skipped`, `ok` or `failed`, and what the compiler said."""
    status = {None: "skipped", True: "ok", False: "failed"}[judgement.compiled]
    return {"status": status, "log": printable(judgement.compiler_log, log_characters)}


def _group(score: GroupScore) -> dict[str, Any]:
    return {
        "group": score.group.group,
        "status": score.status,
        "score": score.score,
        "maxScore": score.group.points,
        "examples": score.group.examples,
    }


def _tests(judgement: Judgement) -> list[dict[str, Any]]:
    points = {
        one.test.number: (worth, group.max_per_test)
        for group in judgement.groups
        for one, worth in zip([one for one in judgement.tests if one.test.group == group.group.group], group.per_test, strict=True)
    }
    return [_test(one, *points[one.test.number]) for one in judgement.tests]


def _test(one: Judged, score: float, max_score: float) -> dict[str, Any]:
    document: dict[str, Any] = {
        "no": one.test.number,
        "group": one.test.group,
        "status": one.status,
        "timeMs": one.time_ms,
        "score": score,
        "maxScore": max_score,
        "note": one.test.name,
    }
    if one.reason:
        document["reason"] = one.reason
    if one.memory_bytes is not None:
        document["memoryBytes"] = one.memory_bytes
    return document


def log(judgement: Judgement, notes: tuple[str, ...]) -> str:
    """For the jury: the compiler's words, a line a test, and what the jury's own programs said."""
    lines = [f"note: {note}" for note in notes[:NOTES]]
    lines += [f"compilation: {compilation(judgement)['status']}", judgement.compiler_log.rstrip()]
    lines += [
        f"{one.test.name}: {one.status}, {one.time_ms} ms, {one.memory_bytes or 0} bytes  {one.reason}  {one.log}".rstrip()
        for one in judgement.tests
    ]
    lines.append(f"{judgement.verdict}: {judgement.score:g} of {judgement.max_score:g}  {judgement.reason}".rstrip())
    return "\n".join(line for line in lines if line) + "\n"
