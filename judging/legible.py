"""PURE: bytes from strangers as text that cannot deceive or harm whoever reads it.

Nothing here is HTML: whoever renders a piece escapes it.
"""

from __future__ import annotations

import codecs
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_PICTURES = 0x2400
"""Unicode's pictures of the control characters lie in their order from here."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of text; `warning` names a character that would not be seen or would reorder others, shown as `text`."""

    text: str
    warning: str = ""


@dataclass(frozen=True, slots=True)
class Legible:
    """Text ready to be shown by lines. `notes` tell the reader what is odd about the bytes."""

    lines: tuple[tuple[Piece, ...], ...]
    encoding: str
    notes: tuple[str, ...] = ()


def decode(raw: bytes) -> tuple[str, str, bool]:
    """The text, the encoding's name, and whether bytes had to be replaced: by byte-order mark, else UTF-8."""
    encoding, body = "utf-8", raw
    for mark, name in _MARKS:
        if raw.startswith(mark):
            encoding, body = name, raw[len(mark) :]
            break
    try:
        return body.decode(encoding), encoding, False
    except UnicodeDecodeError:
        return body.decode(encoding, "replace"), encoding, True


def legible(raw: bytes, *, whole: bool = True) -> Legible:
    """The bytes as lines of pieces. `whole` is False when they were cut, which may split a last character."""
    text, encoding, replaced = decode(raw)
    if replaced and not whole:
        replaced = "\ufffd" in text[:-1]
        text = text.removesuffix("\ufffd")
    windows = text.count("\r\n")
    unified = text.replace("\r\n", "\n")
    lines = tuple(tuple(_pieces(line)) for line in unified.split("\n"))
    if len(lines) > 1 and not lines[-1]:
        lines = lines[:-1]
    return Legible(lines, encoding.upper(), tuple(_notes(lines, replaced=replaced, windows=windows)))


def _notes(lines: tuple[tuple[Piece, ...], ...], *, replaced: bool, windows: int) -> Iterator[str]:
    if replaced:
        yield "Some bytes are not valid in this encoding; they are shown as \ufffd."
    if windows:
        yield "Lines end in CR LF."
    hidden = sum(bool(piece.warning) for line in lines for piece in line)
    if hidden:
        yield f"{hidden} invisible or reordering character{'s' if hidden > 1 else ''} made visible."


def _deceives(character: str) -> bool:
    """Whether a character hides, moves its neighbours, or is a control: everything of Unicode's category C and
    the line and paragraph separators, but the tabulator."""
    if character in "\t\ufffd":
        return False
    return unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"}


def _pieces(line: str) -> Iterator[Piece]:
    start = 0
    if line.isascii() and line.isprintable():
        if line:
            yield Piece(line)
        return
    for place, character in enumerate(line):
        if _deceives(character):
            if start < place:
                yield Piece(line[start:place])
            yield _shown(character)
            start = place + 1
    if start < len(line):
        yield Piece(line[start:])


def _shown(character: str) -> Piece:
    code = ord(character)
    name = unicodedata.name(character, f"control {code:02X}")
    if code < 0x20:
        return Piece(chr(_PICTURES + code), name)
    return Piece("\u2421" if code == 0x7F else f"U+{code:04X}", name)
