"""PURE: a multipart/form-data body taken apart, every byte of every part as it was sent (RFC 7578).

Not Django's parser: that one shortens file names and cuts paths off them, so that what should be refused with its rule
would be changed without a word, and decodes text fields, so that pasted source would lose its bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.http import parse_header_parameters

PARTS = 32
BOUNDARY_BYTES = 256
HEAD_BYTES = 8192


class Unreadable(ValueError):
    """This is no multipart body."""


@dataclass(frozen=True, slots=True)
class Part:
    """One member of a form. `file_name` is None for a plain field."""

    name: str
    file_name: str | None
    content: bytes


def boundary_of(content_type: str) -> bytes | None:
    """The boundary that a content type names; None when it is no multipart/form-data."""
    try:
        kind, members = parse_header_parameters(content_type)
    except ValueError:
        return None
    boundary = members.get("boundary", "").encode("utf-8", "replace")
    return boundary if kind == "multipart/form-data" and 0 < len(boundary) <= BOUNDARY_BYTES else None


def parts(body: bytes, boundary: bytes) -> list[Part]:
    """The form's members in their order. Raises Unreadable, for a body that was cut off too."""
    # A delimiter begins with the line break before it, which belongs to no part; the first one may have none.
    _, *pieces = (b"\r\n" + body).split(b"\r\n--" + boundary, PARTS + 1)
    found: list[Part] = []
    for piece in pieces:
        if piece.startswith(b"--"):
            return found
        padding, line_break, rest = piece.partition(b"\r\n")
        if not line_break or padding.strip(b" \t"):
            raise Unreadable
        found.append(_part(rest))
    raise Unreadable


def _part(piece: bytes) -> Part:
    head, gap, content = piece.partition(b"\r\n\r\n")
    if not gap or len(head) > HEAD_BYTES:
        raise Unreadable
    members = _disposition(head)
    if "name" not in members:
        raise Unreadable
    return Part(members["name"], members.get("filename"), content)


def _disposition(head: bytes) -> dict[str, str]:
    """The parameters of a part's Content-Disposition; none when it has no such header."""
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-disposition":
            try:
                _, members = parse_header_parameters(value.decode())
            except ValueError as error:
                raise Unreadable from error
            return members
    return {}
