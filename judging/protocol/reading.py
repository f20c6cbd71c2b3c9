"""PURE: what a JSON body says, member by member, strictly typed. Unknown ones are ignored, null is as good as absent.

Everything that is wrong with a body is said at once: `Reading.finish` names every member (runner-protocol §1).
"""

from __future__ import annotations

import math
import re
from typing import Any, TypeVar
from uuid import UUID

import msgspec

from judging import json_text, opaque
from judging.errors import MalformedJson, MalformedRequest
from judging.text import storable

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_NUMBER_STARTS = frozenset("-0123456789")
T = TypeVar("T")


def identifier(text: str | None) -> UUID | None:
    """The id a text names, or None when it names none: hyphenated, as the server writes them."""
    return UUID(text) if text is not None and _UUID.fullmatch(text) else None


class Reading:
    """A JSON object under way from text to values. A getter that meets the wrong thing notes it and answers a default."""

    def __init__(self, members: dict[str, str]) -> None:
        self._members = members
        self._errors: dict[str, list[str]] = {}

    @classmethod
    def of(cls, body: bytes) -> Reading:
        """A request's body; an empty one is an object without members. Raises MalformedJson, MalformedRequest."""
        if not body:
            return cls({})
        try:
            members = json_text.members(body.decode())
        except ValueError as error:
            raise MalformedJson(f"The body is not JSON: {error}.") from None
        if members is None:
            raise MalformedRequest("The body must be a JSON object.")
        return cls(members)

    def finish(self) -> None:
        """Raise MalformedRequest naming every member that was missing or wrong, if any was."""
        if self._errors:
            raise MalformedRequest(errors=self._errors)

    def has(self, name: str) -> bool:
        """Whether the member is there, and not null."""
        return self._written(name) is not None

    def text(self, name: str, *, least: int = 0, most: int | None = None, default: str | None = None) -> str:
        """A string as the database can hold it, its length in characters within bounds. Required without a default."""
        sent = self.sent_text(name, default=default)
        kept = storable(sent)
        if len(kept.strip()) < least or (most is not None and len(kept) > most):
            self._refuse(name, f"Must be {least} to {most} characters long.", None)
        return kept

    def sent_text(self, name: str, *, default: str | None = None) -> str:
        """A string exactly as it was sent: it may hold what the database cannot. Required without a default."""
        written = self._written(name)
        if written is None:
            return self._refuse(name, "This member is required.", "") if default is None else default
        if written[0] != '"':
            return self._refuse(name, "Must be a string.", "")
        return _decoded(written)

    def number(self, name: str) -> float | None:
        """A number of any size: one beyond all floats is infinite."""
        written = self._written(name)
        if written is None:
            return None
        if written[0] not in _NUMBER_STARTS:
            return self._refuse(name, "Must be a number.", None)
        return float(written)

    def finite_number(self, name: str) -> float | None:
        """A number that a float can hold."""
        number = self.number(name)
        if number is None or math.isfinite(number):
            return number
        return self._refuse(name, "Is too large.", None)

    def flag(self, name: str) -> bool:
        """A boolean, false when absent."""
        written = self._written(name)
        if written not in (None, "true", "false"):
            return self._refuse(name, "Must be true or false.", False)
        return written == "true"

    def texts(self, name: str, *, required: bool = False) -> tuple[str, ...]:
        """A list of strings as the database can hold them."""
        items = self.values(name, required=required)
        if not all(isinstance(item, str) for item in items):
            return self._refuse(name, "Must be a list of strings.", ())
        return tuple(storable(item) for item in items)

    def values(self, name: str, *, required: bool = False) -> list[Any]:
        """A list of anything, its numbers as json_text has them."""
        written = self._written(name)
        if written is None:
            return self._refuse(name, "This member is required.", []) if required else []
        if written[0] != "[":
            return self._refuse(name, "Must be a list.", [])
        items: list[Any] = json_text.value(written)
        return items

    def opaque(self, name: str, *, most_bytes: int) -> str:
        """An opaque document in its stored form. Raises what `opaque.compact` raises."""
        written = self._written(name)
        return "" if written is None else opaque.compact(written, most_bytes=most_bytes)

    def _written(self, name: str) -> str | None:
        written = self._members.get(name)
        return None if written == "null" else written

    def refuse_unless(self, name: str, *, holds: bool, why: str) -> None:
        """Note that a member is wrong for a reason of its own."""
        if not holds:
            self._refuse(name, why, None)

    def _refuse(self, name: str, why: str, default: T) -> T:
        self._errors.setdefault(name, []).append(why)
        return default


def _decoded(written: str) -> str:
    try:
        text: str = msgspec.json.decode(written)
    except msgspec.DecodeError:
        text = json_text.value(written)
    return text
