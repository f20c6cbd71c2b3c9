"""Sending in, and looking at what became of it."""

from __future__ import annotations

from http import HTTPStatus
from uuid import UUID

from django.db.models import QuerySet
from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from contests import submit
from contests.api.attempts import SubmissionDocument, SubmissionList
from contests.api.door import PeoplesDoor, account, asked_wait, is_operator, only_of
from contests.api.inputs import Program
from contests.api.source import sent
from contests.errors import NotEnrolled
from contests.models import Activity
from contests.sent import PAGE, is_open, one_of, page_before, submissions_in
from contests.taking_part import activity_of
from judging.errors import MalformedRequest, NotFound
from judging.models import Submission
from judging.text import storable
from judging.wake import Look

VIEW = "judging.view_submission"
KEY_LENGTH = 200
KEY = OpenApiParameter("Idempotency-Key", str, OpenApiParameter.HEADER, description="The same one sends in only once.")
WAIT = OpenApiParameter("waitSeconds", float, description="Answer when it is judged, or after this long at most.")
BEFORE = OpenApiParameter("before", UUID, description="The last submission of the page before.")


class Submissions(PeoplesDoor):
    """Programs sent in to be judged."""

    @extend_schema(
        request={"multipart/form-data": Program},
        responses={200: SubmissionDocument, 201: SubmissionDocument},
        parameters=[KEY],
    )
    def create(self, request: Request, slug: str, problem: str) -> Response:
        """Send a program in. A repeat of the key answers what the first one made, with 200."""
        participant = submit.participant_of(account(request).pk, slug)
        assignment = submit.assignment_of(participant.activity, problem)
        key = _key(request)
        # Before the body is read: what is closed stores nothing.
        submit.admit(participant, assignment, key=key)
        program = sent(request)
        receipt = submit.submit(participant, assignment, files=(program.store(),), props=program.props, key=key)
        mine = submissions_in(participant.activity, author=participant.id, evidence=False)
        return Response(
            SubmissionDocument(one_of(mine, receipt.submission), context={"evidence": False}).data,
            status=HTTPStatus.OK if receipt.existing else HTTPStatus.CREATED,
            headers={"Location": reverse("submission", kwargs={"slug": slug, "submission": receipt.submission})},
        )

    @extend_schema(operation_id="activities_submissions_list", responses=SubmissionList, parameters=[BEFORE])
    def browse(self, request: Request, slug: str) -> Response:
        """Mine in this activity, newest first; for operators everybody's."""
        evidence = _operates(request, slug)
        author = None if evidence else submit.participant_of(account(request).pk, slug).id
        found = submissions_in(activity_of(slug), author=author, evidence=evidence)
        rows = page_before(found, _before(request))
        page = {"submissions": rows, "before": rows[-1].id if len(rows) == PAGE else None}
        return Response(SubmissionList(page, context={"evidence": evidence}).data)

    @extend_schema(responses=SubmissionDocument, parameters=[WAIT])
    def retrieve(self, request: Request, slug: str, submission: UUID) -> Response:
        """One of mine; for operators anybody's. Foreign, unknown and deleted are one answer."""
        evidence = _operates(request, slug)
        wait = asked_wait(request)
        found = one_of(_readable(request, slug, evidence=evidence), submission)
        if wait is not None and is_open(found):
            look = Look.of(request.META)
            look.awaiting, look.wait_seconds = submission, wait
        return Response(SubmissionDocument(found, context={"evidence": evidence}).data)


def _operates(request: Request, slug: str) -> bool:
    """Whether the account may see everybody's in this activity, and so be told that there is none."""
    if not is_operator(request, VIEW):
        return False
    only = only_of(request)
    return only is None or Activity.objects.filter(slug=slug, organization=only).exists()


def _readable(request: Request, slug: str, *, evidence: bool) -> QuerySet[Submission]:
    try:
        author = None if evidence else submit.participant_of(account(request).pk, slug).id
    except NotEnrolled:
        raise NotFound from None
    return submissions_in(activity_of(slug), author=author, evidence=evidence)


def _key(request: Request) -> str | None:
    """The idempotency key, None when there is none. Raises MalformedRequest for one that is too long."""
    key = storable(request.headers.get("Idempotency-Key", "").strip())
    if len(key) > KEY_LENGTH:
        raise MalformedRequest(errors={"Idempotency-Key": [f"at most {KEY_LENGTH} characters"]})
    return key or None


def _before(request: Request) -> UUID | None:
    text = request.query_params.get("before")
    try:
        return UUID(text) if text else None
    except ValueError:
        raise MalformedRequest(errors={"before": ["a submission's id"]}) from None
