"""What operators decide about machines."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from contests.api.door import PeoplesDoor, operator
from contests.api.inputs import Tags, WithReason
from contests.api.machines import RunnerDocument, RunnerList, RunnerRevoked, runners_now
from judging import queue


class Runners(PeoplesDoor):
    """The keys that registered, waiting ones among them."""

    @extend_schema(responses=RunnerList)
    def browse(self, request: Request) -> Response:
        """All of them, the newest first."""
        operator(request, "runners.view_runner")
        return Response(RunnerList({"runners": runners_now()}).data)

    @extend_schema(request=None, responses=RunnerDocument)
    def approve(self, request: Request, runner: UUID) -> Response:
        """Let a pending key judge."""
        operator(request, "runners.approve_runner")
        queue.approve(runner)
        return Response(RunnerDocument(runners_now().get(id=runner)).data)

    @extend_schema(request=WithReason, responses=RunnerRevoked)
    def revoke(self, request: Request, runner: UUID) -> Response:
        """End a key for ever; what it holds goes back to the queue at once."""
        by = operator(request, "runners.revoke_runner")
        returned = queue.revoke(runner, by=by, reason=str(WithReason.read(request)["reason"]))
        return Response(RunnerRevoked({"runner": runners_now().get(id=runner), "returned": returned}).data)

    @extend_schema(request=Tags, responses=Tags)
    def retag(self, request: Request, runner: UUID) -> Response:
        """Give a runner other tags, from its next look on."""
        operator(request, "runners.retag_runner")
        tags: Any = Tags.read(request)["tags"]
        return Response({"tags": queue.retag(runner, tags=tags)})
