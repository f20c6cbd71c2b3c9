"""A runner's `details` as a table (runner-agent §2). The file is a stranger's: nothing in it is believed to be there.

What does not have the form is shown as text instead, by whoever asks.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from judging.errors import StorageUnavailable
from judging.files import open_file
from judging.legible import Piece, legible
from judging.models import StoredFile

ROLE = "details"
MOST_READ = 1024 * 1024
MOST_TESTS = 500
MOST_WORD = 200
MOST_NOTE = 1000
TEST_COLUMNS = ("no", "group", "status", "reason", "timeMs", "memoryBytes", "score", "maxScore", "note")

Pieces = tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Details:
    """`facts` are names with what they say; `rows` one per test in the order of TEST_COLUMNS; `more` tests are left out."""

    facts: list[tuple[str, Pieces]]
    rows: list[list[Pieces]]
    more: int


def details_of(file: StoredFile) -> Details | None:
    """The table; None when the file is too large, is lost, or is something else."""
    if file.size_bytes > MOST_READ:
        return None
    try:
        with open_file(file) as stored:
            raw = stored.read(MOST_READ + 1)
    except StorageUnavailable:
        return None
    return read(raw)


def read(raw: bytes) -> Details | None:
    """PURE: the table that these bytes are; None when they are none."""
    try:
        said = json.loads(raw.decode())
    except (ValueError, RecursionError):
        return None
    tests = said.get("tests") if isinstance(said, dict) else None
    if not isinstance(tests, list) or not all(isinstance(test, dict) for test in tests[:MOST_TESTS]):
        return None
    try:
        return Details(_facts(said), [_row(test) for test in tests[:MOST_TESTS]], max(0, len(tests) - MOST_TESTS))
    except RecursionError:
        return None


def _row(test: dict[str, Any]) -> list[Pieces]:
    return [_shown(test.get(name), MOST_NOTE if name == "note" else MOST_WORD) for name in TEST_COLUMNS]


def _facts(said: dict[str, Any]) -> list[tuple[str, Pieces]]:
    compilation = said.get("compilation")
    compiled = compilation.get("status") if isinstance(compilation, dict) else None
    log = compilation.get("log") if isinstance(compilation, dict) else None
    named = [
        ("Type", said.get("type")),
        ("Limits", said.get("limits")),
        ("Score", said.get("score")),
        ("Of", said.get("maxScore")),
        ("Compilation", compiled),
    ]
    facts = [(name, _shown(value, MOST_WORD)) for name, value in [*named, *_groups(said.get("groups"))]]
    return [(name, value) for name, value in [*facts, ("Compiler", _shown(log, MOST_NOTE))] if value]


def _groups(groups: Any) -> list[tuple[str, Any]]:
    """Groups of tests, in the runner's own words."""
    if not isinstance(groups, list):
        return []
    return [(f"Group {place}", group) for place, group in enumerate(groups[:50], start=1)]


def _shown(value: Any, most: int) -> Pieces:
    """Any JSON value as short legible text; nothing for null."""
    if value is None:
        return ()
    text = value if isinstance(value, str) else _number(value) or json.dumps(value, ensure_ascii=False)
    kept = text if len(text) <= most else text[: most - 1] + "…"
    lines = legible(kept.encode("utf-8", "replace")).lines
    return tuple(piece for line in lines for piece in (*line, Piece(" ")))[:-1]


def _number(value: Any) -> str:
    """A number as one reads it; empty for what is none."""
    if isinstance(value, bool):
        return ""
    if isinstance(value, float):
        return f"{value:g}"
    return f"{value:,}" if isinstance(value, int) else ""
