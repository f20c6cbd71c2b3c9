"""What is on, and taking part in it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from contests import routing, taking_part
from contests.api.documents import ActivityList, ActivityWithRounds, EnrolmentDocument
from contests.api.door import PeoplesDoor, account, is_operator, only_of, operator
from contests.api.inputs import Tags

VIEW = "contests.view_activity"


class Activities(PeoplesDoor):
    """Contests and courses."""

    @extend_schema(operation_id="activities_list", responses=ActivityList)
    def browse(self, request: Request) -> Response:
        """Those I take part in or may join; for operators all."""
        found = taking_part.visible_to(account(request), everything=is_operator(request, VIEW), only=only_of(request))
        return Response(ActivityList({"activities": found}, context=_enrolled(request)).data)

    @extend_schema(responses=ActivityWithRounds)
    def retrieve(self, request: Request, slug: str) -> Response:
        """One with its rounds; with the problems of the rounds that have begun, for those who take part."""
        seen = taking_part.look_into(account(request), slug, everything=is_operator(request, VIEW), only=only_of(request))
        return Response(ActivityWithRounds(seen.activity, context=_enrolled(request) | {"shown": seen.shown}).data)

    @extend_schema(request=None, responses={200: EnrolmentDocument, 201: EnrolmentDocument})
    def enrol(self, request: Request, slug: str) -> Response:
        """Take part; saying it again changes nothing."""
        participant, created = taking_part.enrol(account(request), slug, everything=is_operator(request, VIEW), only=only_of(request))
        status = HTTPStatus.CREATED if created else HTTPStatus.OK
        return Response(EnrolmentDocument(participant).data, status=status)

    @extend_schema(request=Tags, responses=Tags)
    def retag(self, request: Request, slug: str) -> Response:
        """Say which pools judge it, where a round has none of its own; work that waits already is redirected."""
        operator(request, "contests.retag_activity")
        tags: Any = Tags.read(request)["tags"]
        activity = taking_part.activity_of(slug)
        return Response({"tags": routing.retag_activity(activity.id, pools=tags)})


def _enrolled(request: Request) -> dict[str, set[UUID]]:
    return {"enrolled": taking_part.enrolled_in(account(request))}
