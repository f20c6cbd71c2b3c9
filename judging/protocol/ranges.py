"""PURE: which part of a file a download asks for (RFC 9110 §13 and §14)."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ONE_RANGE = re.compile(r"bytes[ \t]*=[ \t]*([0-9]{0,18})[ \t]*-[ \t]*([0-9]{0,18})[ \t]*")
_TAG = re.compile(r'(?:W/)?"[^"]*"|\*')


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes of a file: the first one's place, and how many."""

    start: int
    length: int


class Unsatisfiable(ValueError):
    """The range begins behind the end of the file."""


def span_of(header: str, size: int) -> Span | None:
    """The one range a header asks for; None, for all, when it asks for several or cannot be read. Raises Unsatisfiable."""
    found = _ONE_RANGE.fullmatch(header)
    if found is None or not (found[1] or found[2]):
        return None
    if not found[1]:
        length = min(int(found[2]), size)
        if length == 0:
            raise Unsatisfiable
        return Span(size - length, length)
    start = int(found[1])
    last = min(int(found[2]), size - 1) if found[2] else size - 1
    if found[2] and int(found[2]) < start:
        return None
    if start >= size:
        raise Unsatisfiable
    return Span(start, last - start + 1)


def names(header: str, tag: str) -> bool:
    """Whether an If-None-Match header names this entity tag; weak ones match too."""
    return any(found == "*" or found.removeprefix("W/") == tag for found in _TAG.findall(header))
