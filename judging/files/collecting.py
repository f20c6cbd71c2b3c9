"""Files that nobody came to refer to, and drafts that nobody finished."""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Exists, ForeignObjectRel, OuterRef, ProtectedError, QuerySet

from judging.durable import one_transaction
from judging.files.blobs import local_path, remove_unless_referred_to
from judging.files.drafts import FOLDER
from judging.models import StoredFile
from runners.clock import Clock


def collect_unattached(*, looking_back: timedelta | None = None) -> int:
    """Remove files that nothing refers to and that are older than LIMITS.unattached by the database's clock; how many.

    `looking_back` bounds the look at what became due that lately, for callers who come often; None looks at all.
    """
    due = Clock() - settings.LIMITS.unattached
    unattached = _unreferred_to().filter(created_at__lt=due)
    if looking_back is not None:
        unattached = unattached.filter(created_at__gt=due - looking_back)
    collected = sum(_collect(file) for file in list(unattached.values_list("id", flat=True)))
    _remove_old_drafts()
    return collected


def _unreferred_to() -> QuerySet[StoredFile]:
    """Files that no row of any table refers to: a table that comes to refer to files later counts too."""
    found = StoredFile.objects.all()
    for relation in StoredFile._meta.get_fields(include_hidden=True):
        if isinstance(relation, ForeignObjectRel):
            rows: Any = relation.related_model
            found = found.exclude(Exists(rows.objects.filter(**{relation.field.name: OuterRef("pk")})))
    return found


def _collect(file: UUID) -> bool:
    """Remove one file, unless somebody has attached it or is about to. Locked first and looked at again after that."""
    with one_transaction():
        row = StoredFile.objects.select_for_update(skip_locked=True).filter(id=file).first()
        if row is None:
            return False
        try:
            row.delete()
        except ProtectedError:
            return False
    remove_unless_referred_to(row.sha256)
    return True


def _remove_old_drafts() -> None:
    """Remove what killed processes left behind, by the clock of the machine whose files they are."""
    folder = local_path(FOLDER)
    if folder is None or not folder.is_dir():
        return
    before = time.time() - settings.LIMITS.unattached.total_seconds()
    for draft in folder.iterdir():
        with suppress(FileNotFoundError):
            if draft.stat().st_mtime < before:
                draft.unlink()
