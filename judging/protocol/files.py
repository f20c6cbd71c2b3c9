"""Files: download while a held job needs them, upload, attach to the delivery or to the runner itself (§9)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import IO

from django.conf import settings
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils.http import content_disposition_header
from rest_framework.request import Request

from judging import files, queue
from judging.durable import let_go
from judging.errors import ChecksumMismatch, FileRequired, FileTooMany, MalformedRequest, NotFound, Refusal
from judging.files import Form, SentFile, clean_name
from judging.models import StoredFile
from judging.protocol import serializers
from judging.protocol.documents import UploadedFile
from judging.protocol.problem_details import problem
from judging.protocol.ranges import Span, Unsatisfiable, names, span_of
from judging.protocol.reading import identifier
from judging.protocol.schema import AUTHENTICATED, BYTES, GATED, NOT_MODIFIED, NOTHING, described
from judging.protocol.surface import RunnerSurface, caller, document, nothing, path_id, reading
from judging.records import instant

BLOCK = 64 * 1024
OCTETS = "application/octet-stream"
SHOWN_INLINE = frozenset({"text/plain", "image/png", "image/jpeg"})
"""What a browser may show in place: it can run nothing."""

SHA256_DIGITS = 64


class RangeNotSatisfiable(Refusal):
    """The range begins behind the end of the file."""

    code = "range_not_satisfiable"
    status = HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE


class Files(RunnerSurface):
    """What a runner reads and leaves."""

    @described(
        "downloadFile",
        answers={**BYTES, **NOT_MODIFIED},
        problems=(401, 403, 404, 405, 416, 500, 503),
        path_ids=["file"],
    )
    def download(self, request: Request, file: str) -> HttpResponseBase:
        """The bytes of a file that a job held by the caller needs. To everybody else there is no such file."""
        stored = files.readable_by(caller(request).runner.id, path_id(file))
        if stored is None:
            raise NotFound
        tag = f'"{stored.sha256}"'
        if names(request.headers.get("If-None-Match", ""), tag):
            response: HttpResponseBase = HttpResponse(status=HTTPStatus.NOT_MODIFIED)
            del response["Content-Type"]
        else:
            response = _content(stored, request.headers, tag)
        if response.status_code >= HTTPStatus.BAD_REQUEST:
            return response
        response["ETag"] = tag
        response["Cache-Control"] = "private, immutable, max-age=31536000"
        response["Accept-Ranges"] = "bytes"
        response["X-Content-Type-Options"] = "nosniff"
        return response

    @described(
        "uploadFile",
        request={"multipart/form-data": serializers.Upload},
        answers={201: serializers.StoredFile},
        problems=(*AUTHENTICATED, 422),
    )
    def upload(self, request: Request) -> HttpResponse:
        """Keep one file whose SHA-256 is what the runner says it is. Who calls was settled before a byte was read."""
        limits = settings.LIMITS
        let_go()
        with files.form_of(request._request, most_bytes=limits.upload_bytes) as form:
            sent, sha256 = _only_file(form), _sha256(form)
            kept = sent.draft.keep(
                name=sent.name,
                mime_type=sent.mime_type,
                uploaded_by=caller(request).runner.id,
                sha256=sha256,
            )
        response = document(_uploaded(kept), status=HTTPStatus.CREATED)
        response["Location"] = f"/api/v1/runner/files/{kept.id}"
        return response

    @described(
        "attachFileToJob",
        request=serializers.JobAttachment,
        answers=NOTHING,
        problems=(*GATED, 422),
        path_ids=["job"],
    )
    def attach(self, request: Request, job: str) -> HttpResponse:
        """Leave an upload on the delivery that the caller is on, under a role of its own."""
        held, asked = path_id(job), reading(request)
        token, file, name = (asked.sent_text(member) for member in ("leaseToken", "fileId", "name"))
        asked.finish()
        runner = caller(request).runner.id
        queue.attach(held, token=identifier(token), runner=runner, file=identifier(file), name=name)
        return nothing()

    @described(
        "attachFileToRunner",
        request=serializers.RunnerAttachment,
        answers=NOTHING,
        problems=(*AUTHENTICATED, 422),
    )
    def attach_to_runner(self, request: Request) -> HttpResponse:
        """Leave an upload about the runner itself, in place of what it had under that name."""
        asked = reading(request)
        file, name = asked.sent_text("fileId"), asked.sent_text("name")
        asked.finish()
        queue.attach_to_runner(caller(request).runner.id, file=identifier(file), name=name)
        return nothing()


def _only_file(form: Form) -> SentFile:
    """Raises FileTooMany, FileRequired."""
    if len(form.files) > 1:
        raise FileTooMany
    if not form.files or form.files[0].part != "file":
        raise FileRequired
    return form.files[0]


def _sha256(form: Form) -> str:
    """What the sender says the hash is. Raises MalformedRequest, and ChecksumMismatch for what can be no hash."""
    said = form.texts.get("sha256")
    if said is None:
        raise MalformedRequest(errors={"sha256": ["This member is required."]})
    if len(said) != SHA256_DIGITS or not said.isascii() or not said.isalnum():
        raise ChecksumMismatch("The SHA-256 must be 64 hexadecimal digits; nothing was kept.")
    return said


def _uploaded(kept: StoredFile) -> UploadedFile:
    return UploadedFile(
        id=kept.id,
        name=kept.name,
        mime_type=kept.mime_type,
        size_bytes=kept.size_bytes,
        sha256=kept.sha256,
        created_at=instant(kept.created_at),
    )


def _content(stored: StoredFile, headers: Mapping[str, str], tag: str) -> HttpResponseBase:
    """The whole file, or the one part that is asked for."""
    asked = headers.get("Range", "") if headers.get("If-Range", tag) == tag else ""
    try:
        span = span_of(asked, stored.size_bytes)
    except Unsatisfiable:
        response = problem(RangeNotSatisfiable())
        response["Content-Range"] = f"bytes */{stored.size_bytes}"
        return response
    whole = span or Span(0, stored.size_bytes)
    let_go()
    streamed = StreamingHttpResponse(Part(files.open_file(stored), whole), content_type=OCTETS)
    inline = stored.mime_type in SHOWN_INLINE
    if inline:
        streamed["Content-Type"] = stored.mime_type
    streamed["Content-Disposition"] = content_disposition_header(not inline, clean_name(stored.name)) or "inline"
    streamed["Content-Length"] = str(whole.length)
    if span is not None:
        streamed.status_code = HTTPStatus.PARTIAL_CONTENT
        streamed["Content-Range"] = f"bytes {span.start}-{span.start + span.length - 1}/{stored.size_bytes}"
    return streamed


class Part:
    """The bytes of a span, a block at a time; Django closes it when the answer ends, sent or not."""

    def __init__(self, opened: IO[bytes], span: Span) -> None:
        self._opened = opened
        self._span = span
        self.close = opened.close

    def __iter__(self) -> Iterator[bytes]:
        self._opened.seek(self._span.start)
        left = self._span.length
        while left > 0 and (block := self._opened.read(min(BLOCK, left))):
            left -= len(block)
            yield block
