"""Organizations, and the operators who see one of them only."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from contests.models import Operator, Organization
from judging.admin.filters import SeenSelectFilter
from judging.admin.pages import Page


@admin.register(Organization)
class OrganizationPages(Page):
    """Who organises."""

    list_display: Any = ["name", "slug"]
    search_fields = ("name", "slug")
    organization_path = "id"
    when_empty = "An organization owns activities and problems. One installation may do without."

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Those who see every organization: another one's is nobody else's to make."""
        return self.organization(request) is None and super().has_add_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """The same."""
        return self.organization(request) is None and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody: activities refer to it."""
        return False


@admin.register(Operator)
class OperatorPages(Page):
    """Operators' accounts that belong to one organization; an account that is not here sees every one."""

    list_display: Any = ["user", "organization"]
    list_filter: Any = [("organization", SeenSelectFilter)]
    list_filter_submit = True
    list_select_related = ["user", "organization"]
    autocomplete_fields = ["user", "organization"]
    search_fields = ("user__username", "organization__name")
    fields: Any = ["user", "organization"]
    when_empty = "Every operator sees every organization. Limit an account to one here."

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Another account is another line."""
        return ["user"] if obj else []
