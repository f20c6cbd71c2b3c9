"""Final results, for those who took part."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from contests import publishing
from contests.api.documents import Document, Instant
from contests.api.door import PeoplesDoor, account, is_operator, only_of
from contests.models import Publication
from judging.errors import NotFound

VIEW = "contests.view_publication"


class PublicationDocument(Document):
    """Final results as they were published; `superseded` says why they are no longer what counts."""

    number = serializers.IntegerField()
    at = Instant()
    sha256 = serializers.CharField()
    superseded = serializers.SerializerMethodField()

    def get_superseded(self, row: Any) -> str | None:
        """Nothing while it is what counts."""
        return row.superseded or None


class PublicationList(Document):
    """Everything that was published of an activity."""

    publications = PublicationDocument(many=True)


class Publications(PeoplesDoor):
    """What was published of an activity: never changed, superseded at most."""

    @extend_schema(operation_id="activities_publications_list", responses=PublicationList)
    def browse(self, request: Request, slug: str) -> Response:
        """Every publication, newest first; one that no longer is what counts says why."""
        rows = list(_readable(request, slug).select_related("activity").defer("document", "anchor"))
        for place, row in enumerate(rows):
            # Only the newest is compared with what counts now: the others are superseded by it.
            row.superseded = publishing.superseded(row) if place == 0 else f"superseded by number {rows[0].number}"  # type: ignore[attr-defined]
        return Response(PublicationList({"publications": rows}).data)

    @extend_schema(responses=OpenApiTypes.OBJECT)
    def retrieve(self, request: Request, slug: str, number: int) -> HttpResponse:
        """One document, byte for byte what its SHA-256 is over."""
        row = _readable(request, slug).filter(number=number).first()
        if row is None:
            raise NotFound
        return HttpResponse(row.document, content_type="application/json", headers={"ETag": f'"{row.sha256}"'})


def _readable(request: Request, slug: str) -> QuerySet[Publication]:
    return publishing.published_in(account(request), slug, everything=is_operator(request, VIEW), only=only_of(request))
