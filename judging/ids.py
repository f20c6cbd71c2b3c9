"""PURE: ids to and from text and bytes. Remembered both ways, because a replay asks for the same ones many times."""

from __future__ import annotations

from uuid import UUID

_MANY = 4096
_by_text: dict[str, UUID] = {}
_by_bytes: dict[bytes, UUID] = {}
_texts: dict[UUID, str] = {}


def id_text(value: UUID) -> str:
    """An id in its usual form."""
    return _texts.get(value) or _remember(value, str(value))


def id_of(text: str) -> UUID:
    """The id in a text. Raises ValueError."""
    found = _by_text.get(text)
    if found is None:
        found = UUID(text)
        _remember(found, str(found))
    return found


def id_of_bytes(raw: bytes) -> UUID:
    """The id in sixteen bytes. While it is remembered it is one object, which costs nothing to compare."""
    found = _by_bytes.get(raw)
    if found is None:
        digits = raw.hex()
        text = f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
        found = _by_text.get(text) or UUID(int=int.from_bytes(raw, "big"))
        _by_bytes[raw] = found
        _remember(found, text)
    return found


def _remember(value: UUID, text: str) -> str:
    """Everything is forgotten now and then: what is asked again is asked soon."""
    if len(_texts) >= _MANY:
        for memory in (_by_text, _by_bytes, _texts):
            memory.clear()
    _by_text[text] = value
    _texts[value] = text
    return text
