"""Content on its way in: hashed while it is written, moved to its name in one step when it is whole."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Protocol
from uuid import UUID

from django.core.files import File
from django.core.files.storage import default_storage

from judging.durable import one_transaction
from judging.errors import ChecksumMismatch, FileRequired, PayloadTooLarge, Refusal, StorageUnavailable
from judging.files.blobs import blob_name, local_path, lock, remove_unless_referred_to, storage
from judging.models import StoredFile
from judging.text import storable
from runners.clock import Clock

BLOCK = 64 * 1024
OCTETS = "application/octet-stream"
NAME_LENGTH = 255
FOLDER = "incoming"
"""Where drafts lie in the storage."""

_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9.+-]*/[a-z0-9][a-z0-9.+-]*", re.IGNORECASE | re.ASCII)
_MEDIA_TYPE_LENGTH = 127


class Readable(Protocol):
    """Something with bytes in it."""

    def read(self, size: int = ..., /) -> bytes:
        """The next bytes, none at the end."""
        ...


class Draft:
    """Content on its way in. Whatever happens, nothing of it stays unless it was kept."""

    def __init__(self, *, most_bytes: int) -> None:
        """An empty draft that may grow to this many bytes. Raises StorageUnavailable."""
        self.size = 0
        self._most = most_bytes
        self._hash = hashlib.sha256()
        with storage():
            self._file = tempfile.NamedTemporaryFile(dir=_drafts_folder(), delete=False)  # noqa: SIM115 - closed by __exit__

    def __enter__(self) -> Draft:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @property
    def sha256(self) -> str:
        """Of what was written so far, lowercase hex."""
        return self._hash.hexdigest()

    def write(self, chunk: bytes) -> None:
        """Append. Raises PayloadTooLarge, StorageUnavailable."""
        self.size += len(chunk)
        if self.size > self._most:
            raise PayloadTooLarge(f"A file may have at most {self._most} bytes.")
        self._hash.update(chunk)
        with storage():
            self._file.write(chunk)

    def keep(self, *, name: str, mime_type: str = OCTETS, uploaded_by: UUID | None = None, sha256: str | None = None) -> StoredFile:
        """The row that refers to this content from now on. `sha256` is what its sender says it is, in hex.

        Raises FileRequired when it is empty, ChecksumMismatch, StorageUnavailable, StorageBusy; none leaves a trace.
        """
        if self.size == 0:
            raise FileRequired
        if sha256 is not None and sha256.lower() != self.sha256:
            raise ChecksumMismatch
        row = StoredFile(
            sha256=self.sha256,
            size_bytes=self.size,
            name=clean_name(name),
            mime_type=_clean_media_type(mime_type),
            uploaded_by=uploaded_by,
            created_at=Clock(),
        )
        try:
            with one_transaction():
                lock(row.sha256)
                self._move(row.sha256)
                row.save(force_insert=True)
        except Exception:
            with suppress(Refusal):
                remove_unless_referred_to(row.sha256)
            raise
        return StoredFile.objects.get(id=row.id)

    def _move(self, sha256: str) -> None:
        """Give the content its name. On a local disk by a rename: no reader ever sees a part of it."""
        with storage():
            self._file.flush()
            os.fsync(self._file.fileno())
            local = local_path(blob_name(sha256))
            if local is not None:
                local.parent.mkdir(parents=True, exist_ok=True)
                Path(self._file.name).replace(local)
            elif not default_storage.exists(blob_name(sha256)):
                self._file.seek(0)
                default_storage.save(blob_name(sha256), File(self._file))

    def close(self) -> None:
        """Let go; a draft that was not moved is gone."""
        self._file.close()
        Path(self._file.name).unlink(missing_ok=True)


def store(
    content: Readable | Iterable[bytes],
    *,
    name: str,
    mime_type: str = OCTETS,
    uploaded_by: UUID | None = None,
    sha256: str | None = None,
    most_bytes: int,
) -> StoredFile:
    """Keep what a stream, or any iterable of bytes, holds. Raises PayloadTooLarge and what `Draft.keep` raises."""
    with Draft(most_bytes=most_bytes) as draft:
        for chunk in _chunks(content):
            draft.write(chunk)
        return draft.keep(name=name, mime_type=mime_type, uploaded_by=uploaded_by, sha256=sha256)


def storage_works() -> bool:
    """Whether content can be written and asked for at this moment."""
    try:
        with Draft(most_bytes=1) as draft, storage():
            draft.write(b"?")
            default_storage.exists(blob_name(draft.sha256))
    except StorageUnavailable:
        return False
    return True


def clean_name(text: str) -> str:
    """A file's name without folders and without characters that cannot be shown; never empty."""
    last = re.split(r"[/\\]", storable(text))[-1]
    shown = "".join(letter for letter in last if letter.isprintable()).strip()
    return shown[:NAME_LENGTH] or "file"


def _clean_media_type(text: str) -> str:
    fits = len(text) <= _MEDIA_TYPE_LENGTH and _MEDIA_TYPE.fullmatch(text)
    return text.lower() if fits else OCTETS


def _chunks(content: Readable | Iterable[bytes]) -> Iterator[bytes]:
    read = getattr(content, "read", None)
    if read is None:
        yield from content  # type: ignore[misc]
        return
    while chunk := read(BLOCK):
        yield chunk


def _drafts_folder() -> Path | None:
    """On the store's own file system, so that moving is renaming; None: the system's folder for such files."""
    folder = local_path(FOLDER)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    return folder
