"""What runs left behind: one document a job, in the file storage (channel-protocol §5)."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from uuid import UUID

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from judging.files.blobs import local_path, storage


def name_of(problem: UUID, job: UUID) -> str:
    """Where the output of a job lies in the storage (seed 001)."""
    return f"{problem}/output/v0/jobs/{job}"


def keep(problem: UUID, job: UUID, document: bytes) -> None:
    """Keep the output of a job, durably, in place of an earlier one. Raises StorageUnavailable."""
    name = name_of(problem, job)
    with storage():
        local = local_path(name)
        if local is not None:
            _replace(local, document)
            return
        default_storage.delete(name)
        default_storage.save(name, ContentFile(document))


def read(problem: UUID, job: UUID) -> bytes | None:
    """The output of a job, None when there is none. Raises StorageUnavailable."""
    name = name_of(problem, job)
    with storage():
        if not default_storage.exists(name):
            return None
        with default_storage.open(name) as document:
            content: bytes = document.read()
            return content


def remove(problem: UUID, job: UUID) -> None:
    """Forget the output of a job. Raises StorageUnavailable."""
    with storage():
        default_storage.delete(name_of(problem, job))


def _replace(place: Path, document: bytes) -> None:
    """By a rename, so that no reader sees a part, nor a crash leaves one."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=place.parent, prefix=".", delete=False) as draft:
        try:
            draft.write(document)
            draft.flush()
            os.fsync(draft.fileno())
            Path(draft.name).replace(place)
        except BaseException:
            Path(draft.name).unlink(missing_ok=True)
            raise
