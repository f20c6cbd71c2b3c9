"""Acts on the rows that were ticked in a list: one page asks about all of them, and its POST does what was asked."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from unfold.enums import ActionVariant

from judging.admin.actions import Act, Asking, Dialog, Done, Reason, Said, described, do

OnRows = Callable[[Any, HttpRequest, list[Any], Said], Done]
"""(page, request, rows, what the form says) -> what was done, in a sentence. May raise a Refusal."""
Reading = Callable[[Any, HttpRequest, list[Any]], HttpResponseBase]
"""(page, request, rows) -> a file made of them."""
Decorated = Callable[..., HttpResponse | None]

MOST_AT_ONCE = 200


def bulk_act(
    title: str, *, permission: str, text: str, submit: str, form: type[Dialog] = Reason, variant: ActionVariant = ActionVariant.DEFAULT
) -> Callable[[Act], Decorated]:
    """An act that each of the rows is done by itself: what one refuses keeps no other back."""

    def decorate(verb: Act) -> Decorated:
        def one_by_one(page: Any, request: HttpRequest, rows: list[Any], said: Said) -> None:
            for row in rows:
                do(verb, page, request, row, said, name=f"{row}: ")

        return _on_ticked(verb, one_by_one, Asking(title, permission, text, submit, form, variant))

    return decorate


def joint_act(
    title: str, *, permission: str, text: str, submit: str, form: type[Dialog] = Reason, variant: ActionVariant = ActionVariant.DEFAULT
) -> Callable[[OnRows], Decorated]:
    """An act whose verb is called once, with all the rows."""

    def decorate(verb: OnRows) -> Decorated:
        def together(page: Any, request: HttpRequest, rows: list[Any], said: Said) -> None:
            do(lambda page, request, _, said: verb(page, request, rows, said), page, request, None, said)

        return _on_ticked(verb, together, Asking(title, permission, text, submit, form, variant))

    return decorate


def reading_act(title: str, *, permission: str) -> Callable[[Reading], Callable[..., HttpResponseBase]]:
    """A file made of the rows. It changes nothing, so nothing is asked; as every act on many it is posted."""

    def decorate(verb: Reading) -> Callable[..., HttpResponseBase]:
        @wraps(verb)
        def run(page: Any, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponseBase:
            return verb(page, request, _ticked(request, queryset, permission))

        return described(run, title, permission, dialog=None, reads=True)

    return decorate


def _on_ticked(verb: Act | OnRows, act: Callable[[Any, HttpRequest, list[Any], Said], None], asking: Asking) -> Decorated:
    """The view that asks, and calls the act once that was confirmed."""

    @wraps(verb)
    def run(page: Any, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        rows = _ticked(request, queryset, asking.permission)
        confirmed = "confirmed" in request.POST
        form = asking.form(request.POST if confirmed else None, request=request, row=rows)
        gone = _gone(request, rows)
        if confirmed and not gone and form.is_valid():
            act(page, request, rows, form.cleaned_data)
            return None
        return _ask(page, request, rows, form, asking=asking, action=verb.__name__, gone=gone)

    return described(run, asking.title, asking.permission)


def _ticked(request: HttpRequest, queryset: QuerySet[Any], permission: str) -> list[Any]:
    """The rows, as many as one request may do. Raises PermissionDenied."""
    if not request.user.has_perm(permission):
        raise PermissionDenied
    return list(queryset[:MOST_AT_ONCE])


def _gone(request: HttpRequest, rows: list[Any]) -> int:
    """How many of those that were ticked the list does not show any more: they changed, and its filters leave them out.

    The act is then asked about again, with the others alone, rather than done on fewer than were seen.
    """
    return len(set(request.POST.getlist(ACTION_CHECKBOX_NAME))) - len(rows)


def _ask(page: Any, request: HttpRequest, rows: list[Any], form: Dialog, *, asking: Asking, **more: object) -> HttpResponse:
    context = {
        "dialog": asking.words,
        "form": form,
        "rows": rows,
        "labels": [page.label(row) for row in rows],
        "opts": page.opts,
        "title": asking.title,
        "checkbox": ACTION_CHECKBOX_NAME,
    }
    return TemplateResponse(request, "operators/many.html", page.admin_site.each_context(request) | context | more)
