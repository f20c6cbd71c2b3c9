"""Many submissions' files as one ZIP, sent while it is made: neither the memory nor the disk holds it."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from uuid import UUID

from django.http import StreamingHttpResponse

from judging.errors import StorageUnavailable
from judging.files import open_file
from judging.models import SubmissionFile

MOST_SUBMISSIONS = 20_000
"""In one archive: its list of contents is kept in memory while it is made."""
NOT_ALL = "_NOT-ALL-OF-THEM.txt"
CHUNK = 256 * 1024
NAME_LENGTH = 100
AT_ONCE = 200
_UNSAFE = re.compile(r"[^A-Za-z0-9._+-]+")
# What Windows would open as a device, whatever follows the dot.
_DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)


def safe_name(name: str) -> str:
    """PURE: a file's name that no system reads as a path, a hidden file, a device or an option."""
    plain = _UNSAFE.sub("_", name).strip("._-")
    stem, dot, ending = plain.rpartition(".")
    short = f"{stem[: NAME_LENGTH - 20]}{dot}{ending[:19]}"
    return f"_{short}" if _DEVICES.fullmatch(short) else short or "file"


def zipped(submissions: Sequence[UUID], *, rest: str = "") -> StreamingHttpResponse:
    """The sources of these submissions, each in a folder by its id. `rest` is where the others are, if these are not all."""
    response = StreamingHttpResponse(_pieces(submissions, rest), content_type="application/zip")
    response.headers["Content-Disposition"] = 'attachment; filename="submissions.zip"'
    response.headers["Content-Security-Policy"] = "sandbox; default-src 'none'"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


class _Outgoing(io.RawIOBase):
    """What a ZIP writer wrote and nobody took yet; it cannot seek, so sizes follow the contents."""

    def __init__(self) -> None:
        self._waiting = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        piece = bytes(data)  # type: ignore[call-overload]
        self._waiting += piece
        return len(piece)

    def take(self) -> bytes:
        taken = bytes(self._waiting)
        self._waiting.clear()
        return taken


def _pieces(submissions: Sequence[UUID], rest: str) -> Iterator[bytes]:
    outgoing = _Outgoing()
    with zipfile.ZipFile(outgoing, "w", zipfile.ZIP_DEFLATED) as archive:
        if rest:
            # First, so that even who breaks the download off has it.
            archive.writestr(NOT_ALL, f"These are {len(submissions)} submissions, and not all. The others:\n{rest}\n")
        for start in range(0, len(submissions), AT_ONCE):
            files = SubmissionFile.objects.filter(submission__in=submissions[start : start + AT_ONCE]).select_related("file")
            for item in files.order_by("submission", "position"):
                for _ in _add(archive, item):
                    yield outgoing.take()
    yield outgoing.take()


def _add(archive: zipfile.ZipFile, item: SubmissionFile) -> Iterator[None]:
    """One file, a chunk at a time. One that the storage has lost leaves its name, so that it is missed."""
    name = f"{item.submission_id}/{item.position}-{safe_name(item.file_name)}"
    try:
        stored = open_file(item.file)
    except StorageUnavailable:
        archive.writestr(f"{name}.missing", "The storage did not have it.\n")
        return
    with stored, archive.open(name, "w") as into:
        while chunk := stored.read(CHUNK):
            into.write(chunk)
            yield
    yield
