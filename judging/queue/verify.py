"""verify: what verifications want is sent in, compared and ended, a transaction each, by whoever sweeps.

An item and its job change in one transaction, so that any number of workers may die anywhere: each is sent in once.
"""

from __future__ import annotations

from uuid import UUID

from django.conf import settings
from django.db.models import Exists, Func, OuterRef, Q, QuerySet

from judging.durable import one_look, one_transaction
from judging.files import open_file
from judging.models import Attachment, Job, PromiseState, Result, Verification, VerificationItem, VerificationState
from judging.opaque import compact
from judging.queue.piecemeal import each_safely, ended, some_of
from judging.queue.submit import NewSubmission, SourceFile, submit_within
from judging.states import OPEN, JobState
from judging.verification.promise import not_kept

CHUNK = 50
MOST_READ = 4 << 20
MOST_NOTE = 2000
GONE = "its result is gone"
NOT_COMPARED = "judged, but what its runner left could not be read"


def verify(most: int = CHUNK) -> int:
    """Send in, compare and end at most this many; how many there were. Nothing left to do: 0."""
    with one_look():
        live = list(Verification.objects.filter(state__in=[VerificationState.WORKING, VerificationState.CANCELLING]).order_by("created_at"))
    return some_of(live, _step, most=most)


def _step(batch: Verification, most: int) -> int:
    return _work(batch, most) if batch.state == VerificationState.WORKING else _end_some(batch, most)


def _work(batch: Verification, most: int) -> int:
    with one_look():
        waiting = list(batch.items.filter(state=PromiseState.WAITING).values_list("id", flat=True)[:most])
        judged = list(_judged(batch)[:most])
    done = each_safely(waiting, send_in, of="verification") + each_safely(judged, compare, of="verification")
    if not waiting:
        _close_if_whole(batch)
    return done


def _judged(batch: Verification) -> QuerySet[VerificationItem, int]:
    """Items sent in whose job is over; one whose row was removed was over long ago.

    A job that failed because contact was lost is not while what its runner sent after all waits to become its result.
    """
    open_still = Job.objects.filter(Q(state__in=OPEN) | Q(outcome__isnull=False), id=OuterRef("job"))
    return batch.items.filter(~Exists(open_still), state=PromiseState.SENT).values_list("id", flat=True)


def send_in(item: int) -> bool:
    """Submit what an item wants judged; whether this call did it."""
    with one_transaction():
        # The item's row before the thread's: nobody else can know of a thread that begins here.
        waiting = VerificationItem.objects.select_for_update(of=("self",)).select_related(
            "verification__lane", "verification__version__problem"
        )
        row = waiting.filter(id=item, state=PromiseState.WAITING, verification__state=VerificationState.WORKING).first()
        if row is None:
            return False
        receipt = submit_within(_submission(row), actor=row.verification.by)
        VerificationItem.objects.filter(id=item).update(state=PromiseState.SENT, submission=receipt.submission, job=receipt.job)
    return True


def _submission(row: VerificationItem) -> NewSubmission:
    """The jury's: it has no author."""
    batch = row.verification
    files = row.files.select_related("file").order_by("position")
    return NewSubmission(
        lane=batch.lane_id,
        version=batch.version_id,
        files=tuple(SourceFile(each.role, each.file_name, each.file_id, each.file.sha256) for each in files),
        organization=batch.version.problem.organization,
        props=compact({"type": batch.lane.problem_type, "language": row.language}, most_bytes=settings.LIMITS.opaque_bytes),
    )


def compare(item: int) -> bool:
    """Write down whether an item's job found what was promised; whether this call did it. Raises StorageUnavailable."""
    with one_look():
        row = VerificationItem.objects.get(id=item, job__isnull=False)
        assert row.job is not None
        job = Job.objects.filter(id=row.job).first()
        result = Result.objects.filter(job=row.job).first()
        state, found, note = _outcome(row, job, result)
    with one_transaction():
        told = {"state": state, "found": found, "note": note[:MOST_NOTE]}
        return bool(VerificationItem.objects.filter(id=item, state=PromiseState.SENT).update(**told))


def _outcome(row: VerificationItem, job: Job | None, result: Result | None) -> tuple[PromiseState, str, str]:
    if result is None or not result.verdict:
        return _without_verdict(job, result)
    left = _left(result.token)
    faults = not_kept(row.promise, result.verdict, left.get("details"), left.get("log"))
    return PromiseState.BROKEN if faults else PromiseState.KEPT, result.verdict, "; ".join(faults)


def _without_verdict(job: Job | None, result: Result | None) -> tuple[PromiseState, str, str]:
    """Given up is a fault of package or machines, which a verification is there to find; cancelled is nobody's."""
    why = (result.failure_reason if result else "") or (job.reason if job else "") or ""
    if job is None or job.state == JobState.FAILED:
        return PromiseState.BROKEN, "", f"given up: {why or GONE}"
    return PromiseState.ENDED, "", why or str(job.state)


def _left(token: UUID) -> dict[str, bytes]:
    """What the delivery with the verdict left, if it is not larger than anybody would need."""
    found = {}
    left = Attachment.objects.filter(delivery=token, name__in=["details", "log"], file__size_bytes__lte=MOST_READ)
    for item in left.select_related("file"):
        with open_file(item.file) as content:
            found[item.name] = content.read(MOST_READ)
    return found


def _close_if_whole(batch: Verification) -> None:
    """Each item was compared, or never will be."""
    left = VerificationItem.objects.filter(verification=OuterRef("id"), state__in=[PromiseState.WAITING, PromiseState.SENT])
    with one_transaction():
        whole = Verification.objects.filter(~Exists(left), id=batch.id, state=VerificationState.WORKING)
        whole.update(state=VerificationState.DONE, settled_at=Func(function="judge_now"))


def _end_some(batch: Verification, most: int) -> int:
    """End what a cancelled verification has open, whoever holds it: nobody waits for its verdicts."""
    with one_look():
        jobs = list(Job.objects.filter(lane=batch.lane_id, state__in=OPEN).values_list("id", flat=True)[:most])
    by, reason = batch.settled_by or batch.by, f"the verification was cancelled: {batch.reason}"
    each_safely(jobs, lambda job: ended(job, by=by, reason=reason), of="verification")
    with one_look():
        judged = list(_judged(batch)[:most])
    compared = each_safely(judged, compare, of="verification")
    if not jobs:
        with one_transaction():
            # What cannot be read now keeps nobody waiting: it is over.
            batch.items.filter(state=PromiseState.SENT).update(state=PromiseState.ENDED, note=NOT_COMPARED)
            Verification.objects.filter(id=batch.id, state=VerificationState.CANCELLING).update(state=VerificationState.CANCELLED)
    return len(jobs) + compared
