"""PURE: text that the database can hold, whatever bytes a client's JSON decoded to, and that people can read."""

from __future__ import annotations

CUT = "… [cut]"


def storable(text: str) -> str:
    """The text with NUL and lone surrogates, which PostgreSQL refuses, replaced by U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\x00", "\ufffd")


def cut(text: str, most_bytes: int) -> str:
    """The text, or as much of it as fits in that many UTF-8 bytes with a mark that it was cut."""
    raw = text.encode()
    if len(raw) <= most_bytes:
        return text
    room = most_bytes - len(CUT.encode())
    return raw[:room].decode(errors="ignore") + CUT


def printable(text: str) -> str:
    """The text with everything that could move a terminal's cursor or hide from the eye written as its escape."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def many(number: int, word: str) -> str:
    """How many of what: `1 job`, `2 jobs`."""
    return f"{number} {word}{'' if number == 1 else 's'}"
