"""Who takes part."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.decorators import display

from contests.models import Participant
from judging import marks
from judging.admin.filters import SeenSelectFilter
from judging.admin.pages import Page


@admin.register(Participant)
class ParticipantPages(Page):
    """Accounts in activities."""

    list_display: Any = ["name", "account", "in_activity", "joined"]
    list_filter: Any = [("activity", SeenSelectFilter)]
    list_filter_submit = True
    list_select_related = ["activity", "user"]
    autocomplete_fields = ["activity", "user"]
    organization_path = "activity__organization"
    search_fields = ("name", "user__username")
    fields: Any = ["activity", "user", "name"]
    when_empty = "Open the activity's enrolment, or add participants here."

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Submissions were made in this activity by this account."""
        return ["activity", "user"] if obj else []

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody: submissions name their author."""
        return False

    @display(description="Account")
    def account(self, row: Participant) -> str:
        """The name that logs in."""
        return row.user.get_username()

    @display(description="Activity")
    def in_activity(self, row: Participant) -> SafeString:
        """Where."""
        return marks.link(row.activity, row.activity.title)

    @display(description="Joined")
    def joined(self, row: Participant) -> SafeString:
        """Since when."""
        return marks.moment(row.joined_at)
