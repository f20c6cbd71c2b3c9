"""Who may read which file."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Exists, F, OuterRef

from judging.models import Attachment, Job, StoredFile
from judging.states import JobState
from runners.clock import Clock


def readable_by(runner: UUID, file: UUID) -> StoredFile | None:
    """The file, if this runner holds a job with a live lease that needs it (runner-protocol §9); else None.

    That is the version's package, the submission's files, and what the current delivery has attached itself.
    """
    held = Job.objects.filter(runner=runner, state=JobState.RUNNING, lease_until__gt=Clock())
    own = Attachment.objects.filter(delivery__job__in=held, delivery=F("delivery__job__token"), file=OuterRef("pk"))
    needed = (
        Exists(held.filter(version__package=OuterRef("pk"))) | Exists(held.filter(submission__files__file=OuterRef("pk"))) | Exists(own)
    )
    return StoredFile.objects.filter(needed, id=file).first()
