"""Stored bytes for an operator's eyes: shown as text that cannot act, or saved as a file that no browser opens."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from django.http import FileResponse

from judging.errors import StorageUnavailable
from judging.files import open_file
from judging.legible import Legible, legible
from judging.models import StoredFile

MOST_SHOWN = 256 * 1024


@dataclass(frozen=True, slots=True)
class Shown:
    """A file as a page shows it. `text` is None when the storage has lost it; `cut` when more is stored than shown."""

    file: StoredFile
    text: Legible | None
    cut: bool


def shown(file: StoredFile) -> Shown:
    """The beginning of a file as legible text."""
    cut = file.size_bytes > MOST_SHOWN
    try:
        with open_file(file) as stored:
            raw = stored.read(MOST_SHOWN)
    except StorageUnavailable:
        return Shown(file, None, cut)
    return Shown(file, legible(raw, whole=not cut), cut)


def saved(file: StoredFile, *, name: str) -> FileResponse:
    """The whole file as a download under its author's name, which only the browser's file dialog ever reads."""
    response = FileResponse(open_file(file), content_type="application/octet-stream")
    response.headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{quote(name, safe='')}"
    response.headers["Content-Security-Policy"] = "sandbox; default-src 'none'"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response
