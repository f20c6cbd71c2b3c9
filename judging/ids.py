"""PURE: ids to and from text and bytes. Remembered both ways, because a replay asks for the same ones many times."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID, SafeUUID

_MANY = 4096
_by_text: dict[str, Id] = {}
_new, _set = object.__new__, object.__setattr__


class Id(UUID):
    """A UUID that knows its text, and the same in quotes: asking a UUID for it takes longer than all that is done with it."""

    __slots__ = ("quoted", "text")
    text: str
    quoted: str


def id_text(value: UUID) -> str:
    """An id in its usual form."""
    return value.text if type(value) is Id else str(value)


def id_of(text: str) -> UUID:
    """The id in a text. Raises ValueError."""
    return _by_text.get(text) or _known(UUID(text).int, None)


def _known(number: int, text: str | None) -> Id:
    """The remembered id of a number whose text, where it is known, is this one.

    Everything is forgotten now and then: what is asked again is asked soon.
    """
    if text is None:
        text = str(UUID(int=number))
    found = _by_text.get(text)
    if found is None:
        if len(_by_text) >= _MANY:
            _by_text.clear()
            _by_bytes.clear()
        # Past UUID's own constructor, which looks at six ways to be called and takes as long as all the rest.
        found = _new(Id)
        _set(found, "int", number)
        _set(found, "is_safe", SafeUUID.unknown)
        _set(found, "text", text)
        _set(found, "quoted", f'"{text}"')
        _by_text[text] = found
    return found


class _Bytes(dict[bytes, Id]):
    """Ids by their sixteen bytes."""

    def __missing__(self, raw: bytes) -> Id:
        digits = raw.hex()
        text = f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
        self[raw] = found = _known(int.from_bytes(raw, "big"), text)
        return found


_by_bytes = _Bytes()
id_of_bytes: Callable[[bytes], UUID] = _by_bytes.__getitem__
"""The id in sixteen bytes. While it is remembered it is one object, which costs nothing to compare."""
