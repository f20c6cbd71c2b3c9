"""PURE: JSON as it was written. Nothing here turns a number into one: 1e999 and five thousand digits stay text.

msgspec does the work. It refuses a lone surrogate anywhere, and a result must not be lost to half a character in its
log, so what it refuses for that is read again by the standard library.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

import msgspec

DEPTH = 128
"""The deepest nesting taken. Whoever reads a stored document recurses, so what is kept must be readable anywhere."""

DIGITS = 4300
"""The longest run of digits kept. Python's own parser reads no longer one, and a runner must not die of a document."""


_BLANKS = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_STRING_OR_BLANKS = re.compile(rf"{_STRING.pattern}|[ \t\n\r]+", re.DOTALL)
_LONG_NUMBER = re.compile(rf"[0-9]{{{DIGITS + 1}}}")
_STRING_OR_BRACKET = re.compile(rf"{_STRING.pattern}|[\[\]{{}}]", re.DOTALL)
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_RAW_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])


class NotJson(ValueError):
    """The text is not JSON, or is nested too deeply."""


class Number:
    """A number met where none was wanted; what it is nobody asks."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def _refuse(constant: str) -> NoReturn:
    raise NotJson(f"{constant} is not JSON.")


_DECODER = json.JSONDecoder(parse_int=Number, parse_float=Number, parse_constant=_refuse)


def members(text: str) -> dict[str, str] | None:
    """The members of a JSON object, each as its own text; None when the JSON is something else. Raises NotJson.

    Of a name that comes twice the last counts.
    """
    must_be_shallow(text)
    try:
        return {name: bytes(raw).decode() for name, raw in _RAW_MEMBERS.decode(text).items()}
    except msgspec.ValidationError:
        return None
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        return _walked(text, otherwise=error)


def value(text: str) -> Any:
    """What a JSON text says, its numbers as Numbers. Raises NotJson."""
    try:
        return _DECODER.decode(text)
    except ValueError as error:
        raise NotJson(str(error)) from None


def squeezed(text: str) -> str:
    """The same JSON in compact form: no blanks, as few escapes as UTF-8 and the database need.

    Raises NotJson, also for what some reader of it could not read.
    """
    must_be_shallow(text)
    if _LONG_NUMBER.search(text) and _LONG_NUMBER.search(_STRING.sub("", text)):
        raise NotJson(f"It holds a number of more than {DIGITS} digits.")
    try:
        compact: str = msgspec.json.format(text, indent=-1)
    except (msgspec.DecodeError, UnicodeEncodeError):
        value(text)
        compact = _STRING_OR_BLANKS.sub(lambda found: found[0] if found[0][0] == '"' else "", text)
    if "\\u" in compact or "\\/" in compact or _SURROGATE.search(compact):
        compact = _STRING.sub(_fewest_escapes, compact)
    return compact


def must_be_shallow(text: str) -> None:
    """Raise NotJson past DEPTH levels; what is no JSON may pass. Few brackets cannot be deep: they are counted first."""
    if text.count("[") + text.count("{") <= DEPTH:
        return
    depth = 0
    # One at a time: what is too deep is known after a few, however many megabytes follow.
    for found in _STRING_OR_BRACKET.finditer(text):
        met = text[found.start()]
        depth += 1 if met in "[{" else -1 if met in "]}" else 0
        if depth > DEPTH:
            raise NotJson(f"It is nested deeper than {DEPTH} levels.")


def _walked(text: str, *, otherwise: Exception) -> dict[str, str] | None:
    """`members` by the standard library."""
    at = _past_blanks(text, 0)
    if text[at : at + 1] != "{":
        value(text)
        return None
    try:
        return _walk(text, at + 1)
    except (ValueError, IndexError, StopIteration):
        raise NotJson(str(otherwise)) from None


def _walk(text: str, at: int) -> dict[str, str]:
    """The members from just behind the opening brace on. Raises ValueError, IndexError or StopIteration."""
    found: dict[str, str] = {}
    at = _past_blanks(text, at)
    more = text[at] != "}"
    while more:
        name, at = _DECODER.raw_decode(text, _at(text, at, '"'))
        start = _past_blanks(text, _at(text, _past_blanks(text, at), ":") + 1)
        _, end = _DECODER.raw_decode(text, start)
        found[name] = text[start:end]
        at = _past_blanks(text, end)
        more = text[at] == ","
        at = _past_blanks(text, at + 1) if more else at
    if _past_blanks(text, _at(text, at, "}") + 1) != len(text):
        raise NotJson("There is more behind the object.")
    return found


def _past_blanks(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    assert found is not None
    return found.end()


def _at(text: str, at: int, mark: str) -> int:
    if text[at] != mark:
        raise NotJson(f"{mark} is missing.")
    return at


def _fewest_escapes(string: re.Match[str]) -> str:
    written = string[0]
    if "\\" not in written and not _SURROGATE.search(written):
        return written
    fewest = json.dumps(json.loads(written), ensure_ascii=False)
    return _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", fewest)
