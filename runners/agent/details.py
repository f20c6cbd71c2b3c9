"""The `details` and `log` attachments of a judgement (runner-agent §2). The expected answer never appears in `details`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from runners.agent.judgement import GroupScore, Judged, Judgement, RunLimits, Test
from runners.agent.printable import printable
from runners.agent.programs import LOG_CHARACTERS
from runners.agent.verdicts import SKIPPED, Verdict

NOTES = 50


def details(judgement: Judgement) -> dict[str, Any]:
    """For the participant and the jury alike: what was run, how it ended, what it was worth."""
    document: dict[str, Any] = {
        "type": judgement.problem_type,
        "verdict": str(judgement.verdict),
        "limits": judgement.limits.document(),
        "score": judgement.score,
        "maxScore": finite(judgement.max_score),
        "compilation": compilation(judgement),
        "groups": [_group(group) for group in judgement.groups],
        "tests": _tests(judgement),
    }
    return document | ({"reason": judgement.reason} if judgement.reason else {})


def finite(number: float) -> float | None:
    """JSON knows no infinity."""
    return number if math.isfinite(number) else None


def compilation(judgement: Judgement, *, log_characters: int = LOG_CHARACTERS) -> dict[str, str]:
    """`skipped`, `ok` or `failed`, and what the compiler said."""
    status = {None: "skipped", True: "ok", False: "failed"}[judgement.compiled]
    return {"status": status, "log": printable(judgement.compiler_log, log_characters)}


def _group(score: GroupScore) -> dict[str, Any]:
    return {
        "group": score.group.group,
        "status": score.status,
        "score": score.score,
        "maxScore": finite(score.group.points),
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


def judgement_of(document: Any, lines: str) -> Judgement | None:
    """What `details` and `log` say, as far as a promise can be about it; None for something else than both made.

    They come from a runner, so nothing in them is believed to be there.
    """
    try:
        said = dict(zip([str(test["note"]) for test in document["tests"]], document["tests"], strict=True))
        logs = _logs(lines, said)
        tests = tuple(_test_of(name, test, logs.get(name, "")) for name, test in said.items())
        return Judgement(
            str(document["type"]), Verdict(document["verdict"]), float(document["maxScore"] or 0), RunLimits(1, 1), tests=tests
        )
    except (KeyError, TypeError, ValueError):
        return None


def _test_of(name: str, said: dict[str, Any], line: str) -> Judged:
    test = Test(int(said["no"]), name, str(said["group"]), Path(), None)
    status = str(said["status"])
    return Judged(test, None if status == SKIPPED else Verdict(status), time_ms=int(said["timeMs"]), log=line)


def _logs(lines: str, names: dict[str, Any]) -> dict[str, str]:
    """The line of each test."""
    pairs = (line.partition(": ") for line in lines.splitlines())
    return {name: said for name, _, said in pairs if name in names}
