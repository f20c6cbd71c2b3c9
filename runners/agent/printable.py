"""Text from programs, made safe to store and to send."""

from __future__ import annotations

CUT = "\n[cut]"


def printable(raw: bytes | str, limit: int) -> str:
    """At most `limit` characters of valid text: no NUL (databases refuse it), no broken UTF-8, no lone surrogate."""
    text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
    text = text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")
    return text if len(text) <= limit else text[: limit - len(CUT)] + CUT


def first_line(raw: bytes, limit: int = 200) -> str:
    """The first line that says something, for a reason; empty when there is none."""
    for line in raw[:8192].splitlines():
        if line.strip():
            return printable(line.strip(), limit)
    return ""
