"""Assignments: a library problem used in a round, with the configuration that travels to the runners."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.decorators import display
from unfold.views import ChangeList
from unfold.widgets import UnfoldAdminTextareaWidget

from contests import routing
from contests.admin.routed import ability
from contests.models import Assignment
from judging import marks, overview
from judging.admin.filters import SeenSelectFilter
from judging.admin.pages import Page
from judging.errors import Refusal
from judging.models import ProblemVersion
from judging.opaque import compact

ROUND, PROBLEM = "round", "problem"


class AssignmentForm(forms.ModelForm):
    """An assignment with its lane's configuration, of which only the form and the size are looked at."""

    config = forms.CharField(
        label="Configuration",
        required=False,
        strip=False,
        widget=UnfoldAdminTextareaWidget({"rows": 12, "class": "az-json", "spellcheck": "false"}),
        help_text="A JSON object for the runner, or nothing. The server does not read it.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.lane_id:
            self.initial["config"] = indented(self.instance.lane.config)

    def clean_config(self) -> str:
        """Compact JSON, or nothing for an empty object."""
        text = self.cleaned_data["config"]
        if not text.strip():
            return ""
        try:
            return compact(text, most_bytes=settings.LIMITS.opaque_bytes)
        except Refusal as refusal:
            raise forms.ValidationError(f"{refusal.detail} ({refusal.code})") from refusal

    def clean(self) -> dict[str, Any]:
        """A pinned version must be one of this problem."""
        said: dict[str, Any] = super().clean() or {}
        problem = said.get(PROBLEM) or getattr(self.instance, PROBLEM, None)
        version: ProblemVersion | None = said.get("version")
        if version is not None and problem is not None and version.problem_id != problem.id:
            self.add_error("version", "This version belongs to another problem.")
        return said


def indented(config: str) -> str:
    """A stored configuration as one edits it."""
    try:
        return json.dumps(json.loads(config), indent=2, ensure_ascii=False) if config else ""
    except (ValueError, RecursionError):
        return config


class AssignmentList(ChangeList):
    """A page of assignments; the fleet is asked once for all."""

    result_list: Any

    def get_results(self, request: HttpRequest) -> None:
        """The page's rows, each with the fleet."""
        super().get_results(request)
        rows, fleet = list(self.result_list), overview.squads()
        for row in rows:
            row.fleet = fleet
        self.result_list = rows


@admin.register(Assignment)
class AssignmentPages(Page):
    """Which problems are used where."""

    form = AssignmentForm
    list_display: Any = ["name", "of_problem", "in_round", "pinned", "judged_by"]
    list_filter: Any = [
        ("round__activity", SeenSelectFilter),
        ("round", SeenSelectFilter),
        ("problem", SeenSelectFilter),
    ]
    list_filter_submit = True
    list_select_related = ["round__activity", "problem", "version", "lane"]
    autocomplete_fields = [ROUND, PROBLEM, "version"]
    organization_path = "round__activity__organization"
    search_fields = ("slug", "problem__slug", "round__activity__slug")
    fields: Any = [ROUND, PROBLEM, ("slug", "position"), ("version", "submission_limit"), "config", "judged_by"]
    when_empty = "Assign a problem of the library to a round: participants can then submit to it."

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """Ours, which asks for the fleet."""
        return AssignmentList

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """The lane was made from these."""
        return [ROUND, PROBLEM, "judged_by"] if obj else ["judged_by"]

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody: submissions wait in its lane."""
        return False

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:
        """Make a new one with its lane, or write what was edited; both by routing."""
        said = form.cleaned_data
        if change:
            obj.save(update_fields=[name for name in form.changed_data if name not in {"config", "version"}])
            routing.pin(obj.id, said["version"])
            routing.configure(obj, config=said["config"])
            return
        more = {name: said[name] for name in ("slug", "position", "version", "submission_limit", "config")}
        made = routing.assign(said[ROUND], said[PROBLEM], **more)
        obj.__dict__.update(made.__dict__)

    @display(description="Assignment")
    def name(self, row: Assignment) -> SafeString:
        """What participants call it."""
        return format_html("<strong>{}</strong>", row.slug)

    @display(description="Problem")
    def of_problem(self, row: Assignment) -> SafeString:
        """The library's."""
        return marks.link(row.problem, row.problem.slug)

    @display(description="Round")
    def in_round(self, row: Assignment) -> SafeString:
        """Where it is used."""
        return marks.link(row.round, str(row.round))

    @display(description="Version")
    def pinned(self, row: Assignment) -> SafeString:
        """The pinned one, or the newest."""
        return marks.badge(f"pinned to v{row.version.number}", "info") if row.version else marks.badge("newest", "off")

    @display(description="Judged by")
    def judged_by(self, row: Assignment) -> SafeString:
        """The runners that may judge it."""
        return ability([row.lane], getattr(row, "fleet", None)) if row.lane_id else marks.NOTHING
