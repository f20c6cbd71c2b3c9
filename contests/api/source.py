"""What a participant sends in: a program with a name, and the document about it."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass

from django.conf import settings
from django.http import UnreadablePostError
from rest_framework.request import Request

from contests.api.form import Part, Unreadable, boundary_of, parts
from contests.errors import FileName
from judging import files, opaque
from judging.errors import (
    ChecksumMismatch,
    FileRequired,
    FileTooMany,
    NotMultipart,
    PayloadTooLarge,
    RequestMalformed,
)
from judging.queue import SourceFile

NAME_LENGTH = 255
FRAMING_BYTES = 64 * 1024
# Separators of any system, and what PostgreSQL, a terminal or a shell would trip over.
_FORBIDDEN = re.compile(r"[/\\\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class Sent:
    """One program as it came in. `props` is compact JSON or empty; `sha256` what its sender says of it, or None."""

    name: str
    content: bytes
    props: str
    sha256: str | None

    def store(self) -> SourceFile:
        """Keep it, as a submission's source. Raises ChecksumMismatch, StorageUnavailable."""
        most: int = settings.LIMITS.submission_bytes
        kept = files.store(io.BytesIO(self.content), name=self.name, sha256=self.sha256, most_bytes=most)
        return SourceFile("source", self.name, kept.id, kept.sha256)


def sent(request: Request) -> Sent:
    """What the request's body holds.

    Raises NotMultipart, PayloadTooLarge, RequestMalformed, FileRequired, FileTooMany, FileName, ChecksumMismatch,
    and what `opaque.compact` raises.
    """
    form = _form(request)
    source = _source(form)
    # The server reads nothing in the document about the program (seed 000).
    props = opaque.compact(_field(form, "props") or None, most_bytes=settings.LIMITS.opaque_bytes)
    return Sent(_name(form, source), source.content, props, _sha256(_text(form, "sha256")))


def _form(request: Request) -> list[Part]:
    boundary = boundary_of(request.META.get("CONTENT_TYPE", ""))
    if boundary is None:
        raise NotMultipart
    most = settings.LIMITS.submission_bytes + settings.LIMITS.opaque_bytes + FRAMING_BYTES
    try:
        body = request._request.read(most + 1)
    except UnreadablePostError as gone:
        raise RequestMalformed from gone
    if len(body) > most:
        raise PayloadTooLarge
    try:
        return parts(body, boundary)
    except Unreadable as error:
        raise RequestMalformed from error


def _source(form: list[Part]) -> Part:
    """The one program: a file, or pasted code. A file field left empty by a page is none."""
    given = [part for part in form if part.name in ("file", "code") and part.content]
    if not given:
        raise FileRequired
    if len(given) > 1:
        raise FileTooMany
    if len(given[0].content) > settings.LIMITS.submission_bytes:
        raise PayloadTooLarge(f"A source has at most {settings.LIMITS.submission_bytes} bytes.")
    return given[0]


def _name(form: list[Part], source: Part) -> str:
    """What the source is called, exactly as its author says; the server never makes one up (seed 000)."""
    name = _text(form, "fileName") or (source.file_name if source.name == "file" else "") or ""
    broken = _broken_rule(name)
    if broken:
        raise FileName(f"A file name is {broken}.", errors={"fileName": [broken]})
    return name


def _broken_rule(name: str) -> str:
    """The rule that a name breaks; empty when it breaks none."""
    if not name.strip():
        return "required and not blank: send fileName with pasted code"
    if len(name) > NAME_LENGTH:
        return f"at most {NAME_LENGTH} characters long"
    if _FORBIDDEN.search(name) or name in (".", ".."):
        return "free of path separators and control characters"
    return ""


def _sha256(text: str) -> str | None:
    if not text:
        return None
    if not re.fullmatch(r"[0-9a-fA-F]{64}", text):
        raise ChecksumMismatch("sha256 is 64 hexadecimal digits.")
    return text.lower()


def _field(form: list[Part], name: str) -> bytes:
    """The first field of this name; empty when there is none."""
    return next((part.content for part in form if part.name == name), b"")


def _text(form: list[Part], name: str) -> str:
    """A field as text. Raises RequestMalformed when its bytes are no UTF-8."""
    try:
        return _field(form, name).decode()
    except UnicodeDecodeError as error:
        raise RequestMalformed(errors={name: ["UTF-8"]}) from error
