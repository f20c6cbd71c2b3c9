"""What is demanded of an example submission's verdicts: by its folder, by `submissions.yaml`, by a tag in it. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from runners.agent.promises import AC, RTE, TLE, WA, Demand
from runners.agent.verdicts import Verdict

TAG = re.compile(rb"@EXPECTED_RESULTS@:[ \t]*([^\r\n]*)")
TAG_WORDS: dict[str, frozenset[Verdict]] = {
    "CORRECT": frozenset({Verdict.ACCEPTED}),
    "ACCEPTED": frozenset({Verdict.ACCEPTED}),
    "WRONG_ANSWER": frozenset({Verdict.WRONG_ANSWER}),
    "NO_OUTPUT": frozenset({Verdict.WRONG_ANSWER}),
    "TIMELIMIT": frozenset({Verdict.TIME_LIMIT}),
    "TIME_LIMIT_EXCEEDED": frozenset({Verdict.TIME_LIMIT}),
    "RUN_ERROR": frozenset({Verdict.RUNTIME_ERROR, Verdict.MEMORY_LIMIT}),
    "RUN_TIME_ERROR": frozenset({Verdict.RUNTIME_ERROR, Verdict.MEMORY_LIMIT}),
    "RUNTIME_ERROR": frozenset({Verdict.RUNTIME_ERROR, Verdict.MEMORY_LIMIT}),
    "MEMORY_LIMIT": frozenset({Verdict.MEMORY_LIMIT}),
    "MEMORY_LIMIT_EXCEEDED": frozenset({Verdict.MEMORY_LIMIT}),
    "OUTPUT_LIMIT": frozenset({Verdict.OUTPUT_LIMIT}),
    "OUTPUT_LIMIT_EXCEEDED": frozenset({Verdict.OUTPUT_LIMIT}),
    "COMPILER_ERROR": frozenset({Verdict.COMPILATION_ERROR}),
    "COMPILE_ERROR": frozenset({Verdict.COMPILATION_ERROR}),
    "COMPILATION_ERROR": frozenset({Verdict.COMPILATION_ERROR}),
}
"""DOMjudge's words, old and new, with either dashes or underscores. It calls a memory limit a run error."""


ACCEPTED = Demand(permitted=frozenset({AC}))
NEW_FOLDERS = {
    "accepted": ACCEPTED,
    "rejected": Demand(required=frozenset({RTE, TLE, WA})),
    "wrong_answer": Demand(frozenset({AC, WA}), frozenset({WA})),
    "time_limit_exceeded": Demand(frozenset({AC, TLE}), frozenset({TLE})),
    "run_time_error": Demand(frozenset({AC, RTE}), frozenset({RTE})),
    "brute_force": Demand(frozenset({AC, RTE, TLE}), frozenset({RTE, TLE})),
}
LEGACY_FOLDERS = {
    "accepted": ACCEPTED,
    "partially_accepted": Demand(results=frozenset({Verdict.PARTIAL})),
    "wrong_answer": Demand(frozenset({AC, WA}), frozenset({WA})),
    "time_limit_exceeded": Demand(frozenset({AC, WA, TLE}), frozenset({TLE})),
    "run_time_error": Demand(required=frozenset({RTE})),
}


def by_folder(name: str, *, new: bool) -> Demand | None:
    """What a folder of `submissions/` promises; None for one that promises nothing known."""
    name = name.lower()
    known = (NEW_FOLDERS if new else LEGACY_FOLDERS).get(name)
    results = TAG_WORDS.get(name.upper())
    return known or (Demand(results=results) if results else None)


def by_tag(source: bytes) -> Demand | None:
    """What DOMjudge's tag in a source promises; None without one, or when it leaves it to people."""
    found = TAG.search(source)
    if not found:
        return None
    words = re.split(r"[\s,]+", found[1].decode("utf-8", "replace").upper().replace("-", "_"))
    results = frozenset(verdict for word in words for verdict in TAG_WORDS.get(word, ()))
    return Demand(results=results) if results else None


def by_map(said: Mapping[str, Any], base: Demand, tests: re.Pattern[str] | None = None) -> Demand:
    """One entry of `submissions.yaml`, over what its folder demands by default."""
    return Demand(
        permitted=_classes(said.get("permitted"), base.permitted),
        required=_classes(said.get("required"), base.required),
        tests=tests,
        message=str(said.get("message") or ""),
    )


def _classes(value: Any, default: frozenset[str]) -> frozenset[str]:
    listed = [value] if isinstance(value, str) else value
    return frozenset(str(item) for item in listed) if isinstance(listed, list) else default


def glob(pattern: str, *, below: bool = True) -> re.Pattern[str]:
    """The format's globs: `*` within a name, `{a,b}` for either, and a match of a folder matches all below it."""
    translated = re.sub(
        r"\*|\{[^{}]*\}|[^*{]+|\{",
        lambda part: {"*": "[^/]*"}.get(part[0]) or (_either(part[0]) if part[0][0] == "{" and part[0] != "{" else re.escape(part[0])),
        pattern,
    )
    return re.compile(translated + (r"(?:/.*)?" if below else ""))


def _either(braces: str) -> str:
    return f"(?:{'|'.join(glob(option, below=False).pattern for option in braces[1:-1].split(','))})"
