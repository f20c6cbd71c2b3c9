"""PURE: the states a job may be in, the moves between them, and the records that make the moves.

The page to read first. Authority: seed 000 ("queued, running on exactly one Runner, or finished"),
queue.md §1-2 and ledger.md §1.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum


class JobState(StrEnum):
    """Where a job stands."""

    QUEUED = "queued"
    """Waits for a runner; nobody holds it. A claim of its thread's head makes it running; an operator
    may cancel it, a rejudge may supersede it, and a claim that finds its hand-outs used up fails it."""

    RUNNING = "running"
    """Held by exactly one runner under one lease token. A report completes it; a release, an expired
    lease, an infrastructure failure or a revocation sends it back to the queue, or fails it at the cap."""

    COMPLETED = "completed"
    """A runner reported a result. Final: a rejudge is a new job."""

    FAILED = "failed"
    """Given up, with a reason that names the cause. Final but for one case: when contact with the runner was lost on the
    channel, `lost` names that last delivery, and the outcome it sends after all completes the job (seed 001)."""

    CANCELLED = "cancelled"
    """Ended by an operator, or with the submission that was deleted. Final."""

    SUPERSEDED = "superseded"
    """Was waiting when a newer job of the same submission took its place. No runner ever sees it. Final."""


OPEN = frozenset({JobState.QUEUED, JobState.RUNNING})
FINISHED = frozenset(JobState) - OPEN

MOVES: dict[JobState, frozenset[JobState]] = {
    JobState.QUEUED: frozenset({JobState.QUEUED, JobState.RUNNING, JobState.FAILED, JobState.CANCELLED, JobState.SUPERSEDED}),
    JobState.RUNNING: frozenset({JobState.RUNNING, JobState.QUEUED, JobState.COMPLETED, JobState.FAILED, JobState.CANCELLED}),
    JobState.COMPLETED: frozenset({JobState.COMPLETED}),
    JobState.FAILED: frozenset({JobState.FAILED, JobState.COMPLETED}),
    JobState.CANCELLED: frozenset({JobState.CANCELLED}),
    JobState.SUPERSEDED: frozenset({JobState.SUPERSEDED}),
}
"""From each state, the states one record may lead to. A finished state stays what it is, but for a job that failed because
contact was lost: the outcome of the delivery in `lost` completes it."""


class RecordType(StrEnum):
    """What a ledger record says happened (ledger.md §1)."""

    SUBMITTED = "submitted"
    """A job was opened: first judging or rejudge."""
    LEASED = "leased"
    """A job was handed to a runner under a fresh token."""
    DISPLACED = "displaced"
    """A job that came back found a newer urgent one waiting, and gave way to it."""
    RENEWED = "renewed"
    """The deadline moved out; the delivery has been heard."""
    STARTED = "started"
    """The runner says on the channel that the run itself begins: from here the hard limit counts (seed 001)."""
    HEARD = "heard"
    """The delivery has been heard; the deadline did not move."""
    ADMITTED = "admitted"
    """The work was handed to an outside judge under an outside id."""
    RELEASED = "released"
    """The runner stops and gives the job back."""
    EXPIRED = "expired"
    """The lease ran out and the job was taken back."""
    REQUEUED = "requeued"
    """The job went back for the cause in its data, or was given up because its hand-outs are used up."""
    ARRIVED = "arrived"
    """The outcome of a delivery was stored, and the channel acknowledged it. Nothing takes the job away any more: it is
    completed in the channel's words, and only turning the outcome into a result is left."""
    REPORTED = "reported"
    """A result ended the job."""
    FAILED = "failed"
    """The runner said on the channel that the run failed, or the outcome it sent could not be turned into a result. No
    other runner tries (seed 001)."""
    CANCELLED = "cancelled"
    """An operator, the author or a delete ended the job."""
    SUPERSEDED = "superseded"
    """A newer job took the place of this waiting one."""
    PRIORITISED = "prioritised"
    """An operator changed the job's priority class."""
    VOIDED = "voided"
    """The job's result stops counting; the job stays finished."""
    DELETE_MARKED = "delete_marked"
    """The submission was deleted while the job was open."""
    REFUSED = "refused"
    """Somebody asked for what the rules refuse; nothing changed."""
    RECLAIMED = "reclaimed"
    """A finished job's row was removed when its retention ended."""
    BASELINE = "baseline"
    """The row as it stood when the ledger began."""


class Cause(StrEnum):
    """Why a `requeued` record sent a job back (runner-protocol §6)."""

    INFRASTRUCTURE = "infrastructure failure"
    UNDONE = "hand-out undone"
    REVOKED = "runner revoked"
    OPERATOR = "returned by an operator"
    EXHAUSTED = "hand-outs used up"
    SILENT = "contact with the runner was lost"
    KEY_REPLACED = "channel key replaced"


class Priority(IntEnum):
    """Classes between threads, the lowest number first (queue.md §4)."""

    URGENT = 0
    CONTEST = 1
    PRACTICE = 2
    REJUDGE = 3
    JURY = 4
