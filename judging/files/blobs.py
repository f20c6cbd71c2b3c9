"""Content where it lies: named by its hash, in Django's default storage."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import structlog
from django.core.files.storage import FileSystemStorage, default_storage
from django.db import connection

from judging.durable import one_transaction
from judging.errors import Refusal, StorageUnavailable
from judging.models import StoredFile

log = structlog.get_logger()


def blob_name(sha256: str) -> str:
    """Where content lies in the storage."""
    return f"{sha256[:2]}/{sha256}"


def open_file(stored: StoredFile) -> IO[bytes]:
    """The content, to be closed by the caller. Raises StorageUnavailable."""
    with storage():
        opened: IO[bytes] = default_storage.open(blob_name(stored.sha256))
        return opened


def remove_unless_referred_to(sha256: str) -> None:
    """Remove content without rows. Its rows are gone for good by now, or a crash here could leave one without content."""
    with one_transaction():
        lock(sha256)
        if not StoredFile.objects.filter(sha256=sha256).exists():
            with storage():
                default_storage.delete(blob_name(sha256))


def lock(sha256: str) -> None:
    """Wait until nobody else keeps or removes this content; held until the transaction ends."""
    key = int.from_bytes(bytes.fromhex(sha256)[:8], signed=True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [key])


@contextmanager
def storage() -> Iterator[None]:
    """Around every call of the storage: each kind of it has its own exceptions. Raises StorageUnavailable."""
    try:
        yield
    except Refusal:
        raise
    except Exception as error:
        log.exception("storage_failed")
        raise StorageUnavailable("The file storage does not answer; nothing was kept, try again.") from error


def local_path(name: str) -> Path | None:
    """The path of a name in the storage, None where the storage is no folder of this machine."""
    return Path(default_storage.path(name)) if isinstance(default_storage, FileSystemStorage) else None
