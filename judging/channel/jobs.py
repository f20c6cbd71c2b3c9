"""GET /v0/projects/{problem}/jobs/{job}: a job as the channel's clients know it, for operators (seed 001)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import msgspec
from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from judging.channel import outputs
from judging.errors import NotAllowed, NotFound, Refusal, Unauthenticated
from judging.models import Job, LedgerRecord
from judging.protocol.problem_details import MethodNotAllowed, problem
from judging.protocol.reading import identifier
from judging.records import instant
from judging.states import JobState, RecordType

READ = "judging.view_job"
_WORDS = {
    JobState.QUEUED: "pending",
    JobState.COMPLETED: "processed",
    JobState.FAILED: "failed",
    JobState.CANCELLED: "canceled",
    JobState.SUPERSEDED: "canceled",
}


@csrf_exempt
def job(request: HttpRequest, named: str, job: str) -> HttpResponse:
    """The document of one job, with its output once there is one."""
    try:
        if request.method not in {"GET", "HEAD"}:
            raise MethodNotAllowed
        _must_be_operator(request)
        of, wanted = identifier(named), identifier(job)
        row = Job.objects.filter(id=wanted, version__problem=of).first() if of and wanted else None
        if row is None or of is None:
            raise NotFound
        response = HttpResponse(msgspec.json.encode(document(row, of)), content_type="application/json")
    except Refusal as refused:
        return problem(refused, challenge="Session")
    response["Cache-Control"] = "no-store"
    return response


def _must_be_operator(request: HttpRequest) -> None:
    user = request.user
    if not user.is_authenticated or not user.is_active:
        raise Unauthenticated
    verified = not settings.OPERATOR_2FA or bool(getattr(user, "is_verified", bool)())
    site: Any = admin.site
    # What comes from the channel is of all organizations together.
    limited = site.organization_of(user) is not None
    if limited or not (user.is_staff and user.has_perm(READ) and verified):
        raise NotAllowed


def document(row: Job, of: UUID) -> dict[str, Any]:
    """State, times, runner, and what the run left behind. Times are the ledger's: those of the last hand-out."""
    begun = _begun(row)
    found: dict[str, Any] = {
        "uuid": row.id,
        "project": of,
        "status": status_of(row),
        "runner": begun.get("runner"),
        "createdAt": instant(row.created_at),
        "claimedAt": begun.get("claimed"),
        "startedAt": begun.get("started"),
        "finishedAt": instant(row.finished_at) if row.finished_at else None,
        "reason": row.reason,
    }
    output = outputs.read(of, row.id)
    if output is not None:
        found["output"] = msgspec.Raw(output)
    return found


def status_of(row: Job) -> str:
    """The job's state in the channel's words (channel-protocol §4)."""
    if row.outcome is not None:
        return "completed"
    if row.state != JobState.RUNNING:
        return _WORDS[JobState(row.state)]
    return "running" if row.started_at else "claimed"


def _begun(row: Job) -> dict[str, Any]:
    """Who was handed the job last, when, and when that run began."""
    begun: dict[str, Any] = {}
    told = LedgerRecord.objects.filter(job=row.id, type__in=[RecordType.LEASED, RecordType.STARTED]).order_by("n")
    for record in told:
        if record.type == RecordType.LEASED:
            begun = {"runner": record.data.get("runner"), "claimed": instant(record.at)}
        else:
            begun["started"] = instant(record.at)
    return begun
