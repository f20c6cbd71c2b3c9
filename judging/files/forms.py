"""Multipart bodies, read once and in order: text into memory, files straight into drafts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.core.files.uploadhandler import FileUploadHandler
from django.http import HttpRequest
from django.http.multipartparser import InputStreamExhausted, MultiPartParser, MultiPartParserError

from judging.errors import FileTooMany, NotMultipart, PayloadTooLarge, RequestMalformed
from judging.files.drafts import OCTETS, Draft

FRAME_BYTES = 2**20
"""What a body may have beside its file: boundaries, headers and the other parts."""


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file of a form: the part's name, and what its sender calls it and takes it for."""

    part: str
    name: str
    mime_type: str
    draft: Draft


@dataclass(frozen=True, slots=True)
class Form:
    """What a multipart body held. Of a text part that comes twice the last counts; its text may hold anything."""

    texts: dict[str, str]
    files: list[SentFile] = field(default_factory=list)


class IntoDrafts(FileUploadHandler):
    """Takes the files of one body; all of them together may have `most_bytes`."""

    chunk_size = 64 * 1024

    def __init__(self, stack: ExitStack, *, most_bytes: int) -> None:
        super().__init__()
        self.files: list[SentFile] = []
        self._stack = stack
        self._most = most_bytes

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        """A part with a file name begins."""
        super().new_file(*args, **kwargs)
        room = self._most - sum(file.draft.size for file in self.files)
        draft = self._stack.enter_context(Draft(most_bytes=room))
        self.files.append(SentFile(self.field_name or "", self.file_name or "", self.content_type or OCTETS, draft))

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Some of the part's bytes: kept here, for nobody else."""
        self.files[-1].draft.write(raw_data)

    def file_complete(self, file_size: int) -> None:
        """The part ended."""


@contextmanager
def form_of(request: HttpRequest, *, most_bytes: int) -> Iterator[Form]:
    """The parts of a body whose files may have `most_bytes` together; drafts that were not kept are gone afterwards.

    Raises NotMultipart, PayloadTooLarge, RequestMalformed, FileTooMany, StorageUnavailable.
    """
    if request.content_type != "multipart/form-data":
        raise NotMultipart
    if declared_length(request) > most_bytes + FRAME_BYTES:
        raise PayloadTooLarge(f"A file may have at most {most_bytes} bytes.")
    with ExitStack() as stack:
        handler = IntoDrafts(stack, most_bytes=most_bytes)
        texts = _parsed(request, handler)
        yield Form(texts, handler.files)


def declared_length(request: HttpRequest) -> int:
    """The Content-Length, 0 when there is none or it is no number."""
    text = request.META.get("CONTENT_LENGTH") or ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0


def _parsed(request: HttpRequest, handler: IntoDrafts) -> dict[str, str]:
    """Run the body through Django's parser, which hands the files on; the text parts."""
    try:
        post, _ = MultiPartParser(request.META, request, [handler], "utf-8").parse()
    except TooManyFilesSent:
        raise FileTooMany from None
    except RequestDataTooBig:
        raise PayloadTooLarge from None
    except (MultiPartParserError, InputStreamExhausted, TooManyFieldsSent, LookupError, ValueError) as error:
        raise RequestMalformed(f"The multipart body cannot be read: {error}") from None
    return {str(name): str(text) for name, text in post.items()}
