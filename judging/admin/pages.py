"""What the operators' pages have in common: nothing is edited that a verb owns, and nothing large is counted."""

from __future__ import annotations

from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any
from uuid import UUID

from django import forms
from django.contrib.admin import ShowFacets
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import BadRequest, ValidationError
from django.db import models
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from unfold.admin import ModelAdmin
from unfold.paginator import InfinitePaginator
from unfold.widgets import UnfoldAdminTextInputWidget

from judging.admin.actions import offered

HEX = frozenset("0123456789abcdef")
LONGEST_ID = 32
FEW = 2000
"""As many rows as are looked up one by one, rather than met on a walk through the list's order."""


def id_range(text: str) -> tuple[UUID, UUID] | None:
    """The first and the last id that begin like this; None when it is no beginning of an id."""
    digits = text.strip().strip("…").replace("-", "").lower()
    if not 4 <= len(digits) <= LONGEST_ID or not set(digits) <= HEX:
        return None
    return UUID(digits.ljust(LONGEST_ID, "0")), UUID(digits.ljust(LONGEST_ID, "f"))


class Moment(UnfoldAdminTextInputWidget):
    """A date and time in one field of the browser's own. What is written is UTC, as the whole site keeps it."""

    input_type = "datetime-local"

    def format_value(self, value: Any) -> str | None:
        """As that kind of field wants it."""
        if isinstance(value, datetime):
            return value.strftime("%Y-%m-%dT%H:%M:%S")
        return str(value) if value else None

    def build_attrs(self, base_attrs: dict[str, Any], extra_attrs: dict[str, Any] | None = None) -> dict[str, Any]:
        """To the second."""
        return {**super().build_attrs(base_attrs, extra_attrs), "step": "1", "title": "UTC"}


MOMENTS: Any = {models.DateTimeField: {"form_class": forms.DateTimeField, "widget": Moment}}


class Page(ModelAdmin):
    """Any page of ours. `when_empty` says what to do next where there is nothing to show.

    Lists are not counted: PostgreSQL would read the whole table to do it.
    """

    paginator = InfinitePaginator
    show_full_result_count = False
    show_facets = ShowFacets.NEVER
    list_per_page = 50
    # Acts on many rows are for those on the page, which the operator has seen.
    list_disable_select_all = True
    actions: Any = None
    when_empty = ""
    formfield_overrides = MOMENTS
    organization_path: str | None = None
    """From a row to the organization whose work it is; None for what all share, which limited accounts do not see."""

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The list, under its own name."""
        if self.unreadable(request):
            return HttpResponseRedirect(request.path)
        self._must_name_rows(request)
        title = {"title": str(self.opts.verbose_name_plural).capitalize()}
        response: HttpResponse = super().changelist_view(request, title | (extra_context or {}))
        return response

    def unreadable(self, request: HttpRequest) -> bool:
        """Whether the question holds what PostgreSQL's text cannot."""
        return any("\x00" in value for values in request.GET.lists() for value in values[1])

    def _must_name_rows(self, request: HttpRequest) -> None:
        """Raises BadRequest for ticks that no list of ours has: what is no key, or all pages at once."""
        if request.POST.get("select_across", "0") not in {"", "0"}:
            raise BadRequest("Acts on many rows are for those that were ticked.")
        try:
            for tick in request.POST.getlist(ACTION_CHECKBOX_NAME):
                if "\x00" in tick or self.opts.pk.to_python(tick) is None:
                    raise BadRequest("This is no row's key.")
        except ValidationError as error:
            raise BadRequest("This is no row's key.") from error

    def get_ordering(self, request: HttpRequest) -> Any:
        """The page's, else its model's, else the newest first: an autocomplete whose rows have no order shows some of them twice."""
        return super().get_ordering(request) or self.opts.ordering or ("-pk",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """What this account may see here; a row's own page shows no more."""
        found: QuerySet[Any] = super().get_queryset(request)
        organization = self.organization(request)
        if organization is None:
            return found
        return found.filter(**{self.organization_path: organization}) if self.organization_path else found.none()

    def organization(self, request: HttpRequest) -> UUID | None:
        """The only organization whose work this account may see; None when it may see all."""
        site: Any = self.admin_site
        found: UUID | None = site.organization(request)
        return found

    def is_open_to(self, request: HttpRequest) -> bool:
        """Whether this page is for accounts like this one at all."""
        return self.organization_path is not None or self.organization(request) is None

    def has_module_permission(self, request: HttpRequest) -> bool:
        """As Django has it, where the page is open to the account."""
        return self.is_open_to(request) and bool(super().has_module_permission(request))

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """As Django has it, where the page is open to the account."""
        return self.is_open_to(request) and bool(super().has_view_permission(request, obj))

    def has_add_permission(self, request: HttpRequest) -> bool:
        """As Django has it, where the page is open to the account."""
        return self.is_open_to(request) and bool(super().has_add_permission(request))

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """As Django has it, where the page is open to the account."""
        return self.is_open_to(request) and bool(super().has_change_permission(request, obj))

    def get_field_queryset(self, db: Any, db_field: Any, request: HttpRequest) -> QuerySet[Any] | None:
        """What may be chosen in a form: rows that this account sees on their own page."""
        page = self.admin_site._registry.get(db_field.remote_field.model)
        if self.organization(request) is None or page is None:
            found: QuerySet[Any] | None = super().get_field_queryset(db, db_field, request)
            return found
        seen: QuerySet[Any] = page.get_queryset(request)
        return seen

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """As Unfold makes it; what holds a moment says in which zone."""
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if field is not None and isinstance(db_field, models.DateTimeField):
            field.help_text = "UTC"
        return field

    def label(self, row: Any) -> object:
        """What a row is called where several are listed to be confirmed."""
        return row

    def subject(self, request: HttpRequest) -> Any:
        """The row that acts without one are about, for the log; None when there is none."""
        return None

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """The acts on many rows that this account may do; each checks it again when it runs."""
        acts: dict[str, Any] = super().get_actions(request)
        return {name: found for name, found in acts.items() if request.user.has_perm(found[0].permission)}

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[Any]:
        """The acts this account may do on this row as it stands."""
        return offered(super().get_actions_detail(request, object_id), request, self.get_object(request, str(object_id)))


class Watched(Page):
    """A page about what the verbs own: it shows, and offers acts."""

    # Only the columns an index orders: sorting a million rows by another is a way to stop the site.
    sortable_by: Any = ()
    fields: Any = ()

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody: a verb makes these."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody: a verb changes these."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody: what happened stays."""
        return False

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """One row's page, which is ours rather than a form."""
        row = self.get_object(request, object_id)
        shown = self.shown(request, row) if row is not None and self.has_view_permission(request, row) else {}
        context = {**(extra_context or {}), **shown, "heading": shown.get("title")}
        response: HttpResponse = super().change_view(request, object_id, form_url, context)
        return response

    def shown(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """What this row's own template needs."""
        return {}


class FoundById(Watched):
    """Lists that are searched by id, or by the id of what `also_found_by` names, whole or from its beginning."""

    search_fields: Any = ("id",)
    search_help_text = "An id, or how it begins"
    id_name = "id"
    also_found_by: tuple[str, ...] = ()

    def get_search_results(self, request: HttpRequest, queryset: QuerySet[Any], search_term: str) -> tuple[QuerySet[Any], bool]:
        """By ranges of ids; Django's own search would read every row as text.

        Each range is looked up by itself, in its own index's order: asked together with the list's, the database walks that.
        """
        if not search_term.strip():
            return queryset, False
        ends = id_range(search_term)
        if ends is None:
            return queryset.none(), False
        names = (self.id_name, *self.also_found_by)
        ranges = [Q(**{f"{name}__gte": ends[0], f"{name}__lte": ends[1]}) for name in names]
        rows = self.model._default_manager.all()
        found = (rows.filter(each).order_by(name).values_list("pk", flat=True)[: FEW + 1] for name, each in zip(names, ranges, strict=True))
        few = {id_ for each in found for id_ in each}
        if len(few) <= FEW:
            return queryset.filter(pk__in=few), False
        return queryset.filter(reduce(or_, ranges)), False
