"""The library: problems and their immutable versions."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Max, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.contrib.filters.admin import AutocompleteSelectFilter
from unfold.decorators import display

from judging import marks
from judging.admin.opaque import document
from judging.admin.pages import Page, Watched
from judging.models import Problem, ProblemVersion


@admin.register(Problem)
class ProblemPages(Page):
    """Problems by their slugs."""

    list_display: Any = ["name", "title", "kind", "newest", "max_deliveries"]
    search_fields = ("slug", "title")
    search_help_text = "A slug or a title"
    fields: Any = ["slug", "title", "problem_type", "external", "max_deliveries"]
    when_empty = "Make a problem here, give it a version with its package, then assign it to a round."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Problem]:
        """Problems with the number of their newest version."""
        found: QuerySet[Problem] = super().get_queryset(request).annotate(last_version=Max("versions__number"))
        return found

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Lanes carry the type and the flag from when they were made: changing them here would change half of it."""
        return ["slug", "problem_type", "external"] if obj else []

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody: versions, lanes and submissions refer to it."""
        return False

    @display(description="Problem", ordering="slug")
    def name(self, row: Problem) -> SafeString:
        """Its slug."""
        return format_html("<strong>{}</strong>", row.slug)

    @display(description="Type")
    def kind(self, row: Problem) -> SafeString:
        """The word runners declare, and the flag."""
        return format_html("{} {}", marks.code(row.problem_type), marks.badge("external", "warn") if row.external else "")

    @display(description="Newest version")
    def newest(self, row: Any) -> SafeString:
        """Its number; without one nothing can be judged."""
        return marks.badge(f"v{row.last_version}", "off") if row.last_version else marks.badge("no version yet", "bad")


@admin.register(ProblemVersion)
class VersionPages(Watched):
    """Versions, which never change."""

    change_form_template = "operators/version.html"
    list_display: Any = ["name", "size", "made"]
    list_filter: Any = [("problem", AutocompleteSelectFilter)]
    list_filter_submit = True
    search_fields = ("problem__slug",)
    ordering = ["-created_at"]
    when_empty = "A version is made when a package is imported."

    def get_queryset(self, request: HttpRequest) -> QuerySet[ProblemVersion]:
        """Versions with their problem and package."""
        return super().get_queryset(request).select_related("problem", "package")

    @display(description="Version")
    def name(self, row: ProblemVersion) -> SafeString:
        """Of which problem, and its number."""
        return format_html("<strong>{}</strong> v{}", row.problem.slug, row.number)

    @display(description="Package")
    def size(self, row: ProblemVersion) -> str:
        """How large its package is."""
        return f"{row.package.size_bytes:,} bytes" if row.package else "none"

    @display(description="Made")
    def made(self, row: ProblemVersion) -> SafeString:
        """When."""
        return marks.moment(row.created_at)

    def shown(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """One version: its package by hash, and its document."""
        return {"title": f"{row.problem.slug} v{row.number}", "version": row, "props": document(row.props)}
