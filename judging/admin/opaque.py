"""The opaque documents as a page shows them: indented, bounded, never read."""

from __future__ import annotations

import json
from dataclasses import dataclass

from judging.legible import Legible, legible

MOST_SHOWN = 64 * 1024


@dataclass(frozen=True, slots=True)
class Document:
    """A document as text; `cut` when there is more than a page should hold."""

    text: Legible
    size: int
    cut: bool


def document(stored: str) -> Document | None:
    """A stored document, indented where it is JSON that Python reads; None when there is none."""
    if not stored:
        return None
    try:
        text = json.dumps(json.loads(stored), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        text = stored
    raw = text.encode("utf-8", "replace")
    return Document(legible(raw[:MOST_SHOWN], whole=len(raw) <= MOST_SHOWN), len(stored), len(raw) > MOST_SHOWN)
