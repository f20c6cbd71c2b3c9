"""Everything that a list shows under the filters of its address, all pages of it, and the page that asks before an act on it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse


def listed(page: Any, request: HttpRequest) -> QuerySet[Any]:
    """What the page's list would show; nothing when it does not understand the address."""
    nothing: QuerySet[Any] = page.model._default_manager.none()
    if page.unreadable(request):
        return nothing
    try:
        found: QuerySet[Any] = page.get_changelist_instance(request).queryset
    except IncorrectLookupParameters:
        return nothing
    return found


def mark_of(rows: Iterable[UUID]) -> str:
    """PURE: by which these very rows are told from others, as many as they be."""
    return hashlib.sha256(b"".join(id_.bytes for id_ in rows)).hexdigest()


def back_to(page: Any, request: HttpRequest) -> str:
    """The list that was come from, under the same filters."""
    return f"{reverse(f'admin:{page.opts.app_label}_{page.opts.model_name}_changelist')}?{request.GET.urlencode()}"


def ask_about_all(page: Any, request: HttpRequest, form: Any, *, asked: Mapping[str, str], **more: Any) -> HttpResponse:
    """The page that says how many there are and what would be done, and asks for the reason."""
    context = {"dialog": asked, "form": form, "title": asked["title"], "back": back_to(page, request), **more}
    return TemplateResponse(request, "operators/all.html", page.admin_site.each_context(request) | context)
