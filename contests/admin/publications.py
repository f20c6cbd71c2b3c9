"""Final results that were published: when, by whom, and as files."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.safestring import SafeString
from unfold.decorators import display

from contests import publishing
from contests.admin.publishing import standing
from contests.models import Publication
from judging import marks
from judging.admin.filters import SeenSelectFilter
from judging.admin.pages import Watched
from judging.admin.timeline import actors


@admin.register(Publication)
class PublicationPages(Watched):
    """Every set of final results, the newest first."""

    change_form_template = "operators/publication.html"
    organization_path = "activity__organization"
    list_display: Any = ["name", "published", "sum"]
    list_filter: Any = [("activity", SeenSelectFilter)]
    list_filter_submit = True
    ordering = ["-at", "-id"]
    when_empty = "An activity's page publishes its final results, once nothing of it is open and an audit has proved it."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Publication]:
        """Publications with their activity, without what may be large."""
        found: QuerySet[Publication] = super().get_queryset(request).select_related("activity").defer("document", "anchor")
        return found

    @display(description="Results")
    def name(self, row: Publication) -> str:
        """Of what, and under which number."""
        return str(row)

    @display(description="Published")
    def published(self, row: Publication) -> SafeString:
        """When."""
        return marks.moment(row.at)

    @display(description="SHA-256")
    def sum(self, row: Publication) -> SafeString:
        """Over the document's bytes."""
        return marks.code(row.sha256)

    def get_custom_urls(self) -> Any:
        """The two files of a publication."""
        return (
            ("<uuid:publication>/results.json", "contests_publication_document", self.document),
            ("<uuid:publication>/results.anchor", "contests_publication_anchor", self.anchor),
        )

    def document(self, request: HttpRequest, publication: UUID, **kwargs: Any) -> HttpResponse:
        """The results as they were published."""
        row = self._seen(request, publication)
        return _saved(row.document, f"{row.activity.slug}-{row.number}.json")

    def anchor(self, request: HttpRequest, publication: UUID, **kwargs: Any) -> HttpResponse:
        """Where the ledger of its threads stood, for `manage.py audit --anchor`."""
        row = self._seen(request, publication)
        return _saved(row.anchor, f"{row.activity.slug}-{row.number}.anchor")

    def _seen(self, request: HttpRequest, publication: UUID) -> Publication:
        if not self.has_view_permission(request):
            raise PermissionDenied
        row = self.get_queryset(request).filter(id=publication).first()
        if row is None:
            raise Http404
        return row

    def shown(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """One publication."""
        words = publishing.superseded(row)
        return {"title": str(row), "publication": row, "by": actors([row.by])[row.by].name, "standing": standing(words)}


def _saved(text: str, name: str) -> HttpResponse:
    """A file to keep; a slug and a number make its name."""
    return HttpResponse(text, content_type="application/json", headers={"Content-Disposition": f'attachment; filename="{name}"'})
