"""submit: a participant's work enters the queue, exactly once per idempotency key (queue.md §4)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from uuid import UUID

from django.db import IntegrityError, connection

from judging.durable import one_transaction
from judging.errors import KeyReused, SubmissionBusy, SubmissionLimit
from judging.hold import Hold, hold_thread
from judging.models import Submission, SubmissionFile, Thread, Ticket
from judging.queue.opening import open_job
from judging.records import canonical
from judging.states import OPEN
from runners.keys import new_id


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of a submission: its role, the name its author gave it, and the stored content."""

    name: str
    file_name: str
    file: UUID
    sha256: str


@dataclass(frozen=True, slots=True)
class NewSubmission:
    """What is to be judged.

    `thread_key` is the grain's natural key within the lane, None for one thread a submission: all work of a thread is
    routed, and described to its runner, by its one lane.
    `scope` keeps idempotency keys of different authors apart. `props` is compact JSON or empty. `at_most` is how many
    submissions its author may have in this lane, deleted ones not counted; None: no limit.
    """

    lane: UUID
    version: UUID
    files: tuple[SourceFile, ...]
    organization: UUID | None = None
    author: UUID | None = None
    props: str = ""
    thread_key: str | None = None
    key: str | None = None
    scope: str = ""
    only_if_idle: bool = False
    at_most: int | None = None
    urgent: bool = False
    id: UUID = field(default_factory=new_id)

    def content(self) -> str:
        """SHA-256 of what is asked: the same key with another content is refused."""
        document = {
            "thread": self.thread_key,
            "lane": str(self.lane),
            "version": str(self.version),
            "mode": [self.only_if_idle, self.urgent],
            "files": [[file.name, file.file_name, file.sha256] for file in self.files],
            "props": self.props,
        }
        return hashlib.sha256(canonical(document)).hexdigest()


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a submit answers. `existing` says an earlier request under the same key had done it."""

    submission: UUID
    job: UUID
    existing: bool = False


def submit(new: NewSubmission, *, actor: str) -> Receipt:
    """Open the first job of a submission.

    Raises KeyReused when the key was used for something else, SubmissionBusy when only an idle thread
    would do, SubmissionLimit when the author has sent as many as allowed. All leave nothing behind.
    """
    try:
        return _submit(new, actor=actor)
    except IntegrityError as error:
        # Another call under the same key committed first, while this one waited for the key's place in the
        # index: nothing of this one is left, and now its ticket is there to be read.
        if "ticket_key_once" not in str(error):
            raise
    return _submit(new, actor=actor)


def _submit(new: NewSubmission, *, actor: str) -> Receipt:
    with one_transaction():
        return submit_within(new, actor=actor)


def submit_within(new: NewSubmission, *, actor: str) -> Receipt:
    """As submit, in the transaction of a verb that writes down in it that it has done so. Such a caller sends no key."""
    # First: whoever waits here for a twin of itself is to find its receipt, not a place that is taken.
    _count_alone(new)
    known = _known(new)
    if known is not None:
        return known
    held = hold_thread(_thread(new))
    if new.thread_key is not None and (known := _known(new)) is not None:
        # Who waited for a shared thread's lock may have waited for this very key. A thread of one's own is
        # never waited for: there the key's place in the index decides, and takes the thread back with it.
        return known
    return _open(held, new, actor=actor)


def known_key(organization: UUID | None, scope: str, key: str) -> bool:
    """Whether this idempotency key was used: doors then skip gates that have closed since."""
    return sent_before(organization, scope, key) is not None


def sent_before(organization: UUID | None, scope: str, key: str) -> tuple[UUID, UUID] | None:
    """The lane and the problem version of what was sent under this idempotency key; None when nothing was.

    For doors that choose either themselves: what they would choose now is nothing a repeat has asked for.
    """
    ticket = Ticket.objects.filter(organization=organization, scope=scope, key=key)
    return ticket.values_list("submission__lane", "submission__version").first()


def _known(new: NewSubmission) -> Receipt | None:
    """The receipt of an earlier request under this key, if any."""
    if new.key is None:
        return None
    ticket = Ticket.objects.filter(organization=new.organization, scope=new.scope, key=new.key).first()
    if ticket is None:
        return None
    if ticket.content != new.content():
        raise KeyReused
    return Receipt(ticket.submission_id, ticket.job, existing=True)


def _thread(new: NewSubmission) -> UUID:
    """The thread this work belongs to, made when it is the first of its key."""
    key = new.thread_key or f"submission:{new.id}"
    fresh = Thread(organization=new.organization, key=key, lane_id=new.lane)
    if new.thread_key is not None:
        Thread.objects.bulk_create([fresh], ignore_conflicts=True)
        found, lane = Thread.objects.values_list("id", "lane").get(organization=new.organization, key=key)
        assert lane == new.lane, "a thread's work is of one lane"
        return found
    fresh.save(force_insert=True)
    return fresh.id


def _open(held: Hold, new: NewSubmission, *, actor: str) -> Receipt:
    if new.only_if_idle and any(row.state in OPEN for row in held.jobs.values()):
        raise SubmissionBusy
    _must_leave_room(new)
    job = new_id()
    submission = _store(held, new)
    if new.key is not None:
        _keep_receipt(held, new, new.key, job=job)
    open_job(held, submission, job=job, attempt=1, urgent=new.urgent, actor=actor)
    held.write()
    return Receipt(submission.id, job)


def _store(held: Hold, new: NewSubmission) -> Submission:
    """The submission and its files, in their order."""
    submission = Submission.objects.create(
        id=new.id,
        thread_id=held.thread.id,
        lane_id=new.lane,
        version_id=new.version,
        organization=new.organization,
        author=new.author,
        props=new.props,
        created_at=held.at,
    )
    SubmissionFile.objects.bulk_create(
        SubmissionFile(submission=submission, position=place, name=file.name, file_name=file.file_name, file_id=file.file)
        for place, file in enumerate(new.files)
    )
    return submission


def _keep_receipt(held: Hold, new: NewSubmission, key: str, *, job: UUID) -> None:
    """What a repeat under this key is answered. Raises IntegrityError when a twin was first."""
    Ticket.objects.create(
        organization=new.organization,
        scope=new.scope,
        key=key,
        content=new.content(),
        submission_id=new.id,
        job=job,
        created_at=held.at,
    )


def _count_alone(new: NewSubmission) -> None:
    """Where there is a limit, one send of an author at a time: parallel ones would all see room for one more."""
    if new.at_most is None:
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"{new.author}:{new.lane}"])


def _must_leave_room(new: NewSubmission) -> None:
    if new.at_most is None:
        return
    if Submission.objects.filter(author=new.author, lane=new.lane, deleted_at=None).count() >= new.at_most:
        raise SubmissionLimit
