"""What operators decide about judging."""

from __future__ import annotations

from http import HTTPStatus
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from contests.api.attempts import AttemptDocument
from contests.api.documents import JobOpened, MaintenanceDocument
from contests.api.door import PeoplesDoor, operator, operator_of
from contests.api.inputs import Level, Rejudge, WithReason
from judging import queue
from judging.errors import NotFound
from judging.models import Job, Maintenance


class Judging(PeoplesDoor):
    """Attempts at judging, and whether there are any."""

    @extend_schema(request=Rejudge, responses={201: JobOpened})
    def rejudge(self, request: Request, submission: UUID) -> Response:
        """Open another attempt; one that waits gives way to it, one that is held goes on."""
        by = operator_of(request, "judging.rejudge_submission", submission)
        said = Rejudge.read(request)
        job = queue.rejudge(submission, by=by, reason=str(said["reason"]), urgent=bool(said["urgent"]))
        return Response(JobOpened({"jobId": job}).data, status=HTTPStatus.CREATED)

    @extend_schema(request=WithReason, responses=AttemptDocument)
    def cancel(self, request: Request, submission: UUID, job: UUID) -> Response:
        """End an open attempt; who holds it is told that its lease is stale."""
        by = operator_of(request, "judging.cancel_job", submission)
        attempt = Job.objects.filter(id=job, submission=submission)
        if not attempt.exists():
            raise NotFound
        queue.cancel(job, by=by, reason=str(WithReason.read(request)["reason"]))
        return Response(AttemptDocument(attempt.get()).data)

    @extend_schema(request=Level, responses=MaintenanceDocument)
    def maintain(self, request: Request) -> Response:
        """Open, drain or close the installation; saying it again keeps the first time and reason."""
        operator(request, "judging.maintain_installation")
        said = Level.read(request)
        installation = queue.switch_maintenance(Maintenance(str(said["level"])), reason=str(said["reason"]))
        return Response(MaintenanceDocument(installation).data)
