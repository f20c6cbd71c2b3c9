"""What became of submissions: who may see which, and which attempt counts. One query a table, however many rows."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.db.models import Prefetch, Q, QuerySet

from contests.models import Activity
from judging.errors import NotFound
from judging.models import Delivery, Job, Submission
from judging.rejudging import set_aside
from judging.states import OPEN, JobState

PAGE = 100
_GIVEN_WAY = {JobState.CANCELLED, JobState.SUPERSEDED}


def submissions_in(activity: Activity, *, author: UUID | None, evidence: bool) -> QuerySet[Submission]:
    """The activity's submissions, newest first, with their attempts; of everybody when `author` is None.

    `evidence` brings the deliveries and who held them, and the attempts whose results are kept aside: operators see those.
    """
    jobs = Job.objects.select_related("result").annotate(aside=set_aside()).order_by("-attempt")
    if not evidence:
        jobs = jobs.filter(aside=False)
    else:
        held = Delivery.objects.select_related("runner").order_by("fence")
        jobs = jobs.prefetch_related(Prefetch("delivery_set", queryset=held))
    found = Submission.objects.filter(lane__assignment__round__activity=activity, deleted_at=None)
    if author is not None:
        found = found.filter(author=author)
    return (
        found.select_related("lane__assignment__round__activity")
        .prefetch_related(Prefetch("jobs", queryset=jobs), "files__file")
        .order_by("-created_at", "-id")
    )


def one_of(submissions: QuerySet[Submission], submission: UUID) -> Submission:
    """This one among those that may be seen. Raises NotFound: foreign, unknown and deleted are one answer."""
    found = submissions.filter(id=submission).first()
    if found is None:
        raise NotFound
    return found


def page_before(submissions: QuerySet[Submission], before: UUID | None) -> list[Submission]:
    """The next PAGE, older than the one named. Raises NotFound when that one is not among them."""
    if before is None:
        return list(submissions[:PAGE])
    last = one_of(submissions, before)
    older = Q(created_at__lt=last.created_at) | Q(created_at=last.created_at, id__lt=last.id)
    return list(submissions.filter(older)[:PAGE])


def current(attempts: Sequence[Job]) -> Job | None:
    """The attempt that speaks for a submission, out of newest first: the last that did not give way.

    Those whose results a rejudging keeps aside (`aside`) never speak. None when there are none left, since finished
    jobs are removed with time.
    """
    counted = [job for job in attempts if not is_aside(job)]
    standing = (job for job in counted if job.state not in _GIVEN_WAY)
    return next(standing, counted[0] if counted else None)


def is_aside(job: Job) -> bool:
    """Whether a rejudging keeps this attempt's result aside, as it was read by `submissions_in`."""
    return bool(getattr(job, "aside", False))


def is_open(submission: Submission) -> bool:
    """Whether anything of it is still to be judged."""
    return any(job.state in OPEN and not is_aside(job) for job in submission.jobs.all())
