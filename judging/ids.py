"""PURE: ids to and from text. Remembered, because a replay asks for the same ones many times."""

from __future__ import annotations

from functools import lru_cache
from uuid import UUID

_MANY = 8192


@lru_cache(maxsize=_MANY)
def id_text(value: UUID) -> str:
    """An id in its usual form."""
    return str(value)


@lru_cache(maxsize=_MANY)
def id_of(text: str) -> UUID:
    """The id in a text. Raises ValueError."""
    return UUID(text)
