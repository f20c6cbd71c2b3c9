"""attach: a runner leaves a file on its delivery, or on itself (runner-protocol §9)."""

from __future__ import annotations

from uuid import UUID

from judging.durable import one_transaction
from judging.errors import AttemptFileDuplicate, FileMissing, MalformedRequest
from judging.hold import Hold
from judging.models import Attachment, RunnerAttachment, StoredFile
from judging.queue.renew import hear
from judging.refused import hold_by_lease
from judging.rows import JobRow
from judging.text import storable

ROLE_LENGTH = 128


def attach(job: UUID, *, token: UUID | None, runner: UUID, file: UUID | None, name: str) -> None:
    """Attach the caller's own unattached upload to its current delivery under a role.

    Raises what the gate raises, then AttemptFileDuplicate, then FileMissing; the last two keep the delivery heard.
    """
    refusal: AttemptFileDuplicate | FileMissing | None = None
    with hold_by_lease(job, "attach", token=token, runner=runner) as held:
        row = hear(held, held.gate(job, token=token, runner=runner))
        try:
            attach_held(held, row, file=file, name=name)
        except (AttemptFileDuplicate, FileMissing) as refused:
            refusal = refused
        held.write()
    if refusal is not None:
        raise refusal


def attach_held(held: Hold, row: JobRow, *, file: UUID | None, name: str) -> None:
    """Attach a file to the delivery that a held, gated job is on. Raises AttemptFileDuplicate, FileMissing."""
    assert row.token is not None
    role = _role(name)
    if Attachment.objects.filter(delivery=row.token, name=role).exists():
        raise AttemptFileDuplicate
    upload = _unattached(file, runner=row.runner)
    Attachment.objects.create(delivery_id=row.token, name=role, file=upload, created_at=held.at)


def attach_to_runner(runner: UUID, *, file: UUID | None, name: str) -> None:
    """Attach the caller's upload to the runner itself, in place of what it had under that name."""
    role = _role(name)
    with one_transaction():
        upload = _unattached(file, runner=runner)
        RunnerAttachment.objects.update_or_create(runner_id=runner, name=role, defaults={"file": upload})


def _role(name: str) -> str:
    role = storable(name)
    if not role.strip() or len(role) > ROLE_LENGTH:
        raise MalformedRequest(errors={"name": [f"1 to {ROLE_LENGTH} characters"]})
    return role


def _unattached(file: UUID | None, *, runner: UUID | None) -> StoredFile:
    """The runner's own upload that nothing refers to, locked so that neither a second attach nor the collector has it."""
    if file is None:
        raise FileMissing
    upload = StoredFile.objects.select_for_update().filter(id=file, uploaded_by=runner).first()
    if upload is None or Attachment.objects.filter(file=upload).exists():
        raise FileMissing
    if RunnerAttachment.objects.filter(file=upload).exists():
        raise FileMissing
    return upload
