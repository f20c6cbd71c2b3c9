"""submit: the gates of a contest, then the queue's own submit. What it accepts is judged, whatever closes later."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db import connection

from contests.errors import ActivityClosed, NotEnrolled, ProblemUnknown
from contests.models import Activity, Assignment, Grain, Participant
from judging import queue
from judging.errors import NotFound, SubmissionLimit
from judging.models import ProblemVersion, Submission
from judging.queue import NewSubmission, Receipt, SourceFile


def admit(participant: Participant, assignment: Assignment, *, key: str | None) -> None:
    """The gates of the contest: doors ask before they store a file, and `submit` asks again.

    A retry of what was accepted passes whatever has closed since (queue.md §5, first row).
    Raises ActivityClosed, SubmissionLimit.
    """
    if _is_repeat(participant, assignment, key):
        return
    try:
        _must_be_open(assignment)
        _must_be_within_limit(participant, assignment)
    except (ActivityClosed, SubmissionLimit):
        # Asked again: what fills the limit may be its own twin, accepted a moment ago.
        if not _is_repeat(participant, assignment, key):
            raise


def submit(participant: Participant, assignment: Assignment, *, files: tuple[SourceFile, ...], props: str, key: str | None) -> Receipt:
    """Send one submission of a participant in. `props` is compact JSON or empty; `key` an idempotency key.

    Raises what `admit` and the queue's submit raise.
    """
    admit(participant, assignment, key=key)
    assignment, version = _as_sent_before(participant, assignment, key) or (assignment, _version(assignment))
    new = NewSubmission(
        lane=assignment.lane_id,
        version=version,
        files=files,
        organization=assignment.round.activity.organization_id,
        author=participant.id,
        props=props,
        thread_key=_thread_key(participant, assignment),
        at_most=assignment.submission_limit,
        key=key,
        scope=_scope(participant),
    )
    return queue.submit(new, actor=f"user:{participant.user_id}")


def _is_repeat(participant: Participant, assignment: Assignment, key: str | None) -> bool:
    return key is not None and queue.known_key(assignment.round.activity.organization_id, _scope(participant), key)


def _as_sent_before(participant: Participant, assignment: Assignment, key: str | None) -> tuple[Assignment, UUID] | None:
    """What a repeat's slug and problem meant when they were sent first: another round may have opened, a version come out."""
    activity = assignment.round.activity
    sent = None if key is None else queue.sent_before(activity.organization_id, _scope(participant), key)
    if sent is None:
        return None
    lane, version = sent
    same = Assignment.objects.filter(lane=lane, slug=assignment.slug, round__activity=activity).select_related("round__activity")
    return next(((found, version) for found in same), None)


def participant_of(user_id: int, activity_slug: str) -> Participant:
    """The account's place in an activity. Raises NotEnrolled where it may join, NotFound for any other as for an unknown one."""
    participant = Participant.objects.filter(activity__slug=activity_slug, user_id=user_id).select_related("activity").first()
    if participant is not None:
        return participant
    raise NotEnrolled if Activity.objects.filter(slug=activity_slug, enrolment_open=True).exists() else NotFound


def assignment_of(activity: Activity, slug: str) -> Assignment:
    """What participants call by this slug now: in an open round before a closed one, then the latest round."""
    found = Assignment.objects.filter(round__activity=activity, slug=slug).select_related("round__activity")
    rounds = sorted(found, key=lambda item: (_is_open(item, database_now()), item.round.position))
    if not rounds:
        raise ProblemUnknown
    return rounds[-1]


def database_now() -> datetime:
    """The database's clock: a web node's own may be wrong by hours."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT judge_now()")
        now: datetime = cursor.fetchone()[0]
    return now


def _is_open(assignment: Assignment, now: datetime) -> bool:
    round_ = assignment.round
    windows = ((round_.activity.opens_at, round_.activity.closes_at), (round_.opens_at, round_.closes_at))
    return all((opens is None or opens <= now) and (closes is None or now < closes) for opens, closes in windows)


def _must_be_open(assignment: Assignment) -> None:
    if not _is_open(assignment, database_now()):
        raise ActivityClosed


def _must_be_within_limit(participant: Participant, assignment: Assignment) -> None:
    """A kind word before anything is stored; the queue's own count, under a lock, is the one that decides."""
    limit = assignment.submission_limit
    if limit is None:
        return
    sent = Submission.objects.filter(author=participant.id, lane=assignment.lane_id, deleted_at=None).count()
    if sent >= limit:
        raise SubmissionLimit


def _version(assignment: Assignment) -> UUID:
    """The pinned version, else the problem's newest. Raises ProblemUnknown when it has none."""
    if assignment.version_id is not None:
        return assignment.version_id
    newest = ProblemVersion.objects.filter(problem=assignment.problem_id).order_by("-number")
    version = newest.values_list("id", flat=True).first()
    if version is None:
        raise ProblemUnknown
    return version


def _thread_key(participant: Participant, assignment: Assignment) -> str | None:
    if assignment.round.activity.grain == Grain.CONTESTANT:
        return f"contestant:{participant.id}:assignment:{assignment.id}"
    return None


def _scope(participant: Participant) -> str:
    return f"participant:{participant.id}"
