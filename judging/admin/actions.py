"""How an operator acts: a dialog asks for the reason, and its POST calls one verb.

An Unfold action without a dialog runs on GET, so acts are made by nothing but `act` and, for many rows, those of `ticked`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.safestring import SafeString
from unfold.enums import ActionVariant
from unfold.widgets import UnfoldAdminTextareaWidget

from judging.errors import Refusal

B = TypeVar("B", bound=Callable[..., Any])
Said = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Secret:
    """What an act made that is shown this once and kept nowhere; `words` say what was done."""

    words: str
    text: str


Done = str | Secret
Act = Callable[[Any, HttpRequest, Any, Said], Done]
"""(page, request, row or None, what the form says) -> what was done, in a sentence. May raise a Refusal."""
REASON_LENGTH = 500


class Dialog(forms.Form):
    """What an act asks. `row` is what it is about (rows, for many), None when about the installation."""

    def __init__(self, data: Any = None, files: Any = None, *, request: HttpRequest, row: Any) -> None:
        self.request = request
        self.row = row
        super().__init__(data, files)

    def effects(self) -> Iterable[object]:
        """What the act will do, a line each, shown before it is confirmed."""
        return ()


class Reason(Dialog):
    """Why it is done."""

    reason = forms.CharField(
        max_length=REASON_LENGTH,
        widget=UnfoldAdminTextareaWidget({"rows": 2, "placeholder": "For whoever asks later"}),
        help_text="Kept with your name and the time.",
    )


@dataclass(frozen=True, slots=True)
class Asking:
    """What must be allowed, and what is said and asked before it is done."""

    title: str
    permission: str
    text: str
    submit: str
    form: type[Dialog]
    variant: ActionVariant

    @property
    def words(self) -> dict[str, str]:
        """As the templates want them."""
        return {"title": self.title, "text": self.text, "submit": self.submit, "variant": self.variant.value}


def actor(request: HttpRequest) -> str:
    """How the ledger calls whoever acts here."""
    return f"user:{request.user.pk}"


def act(
    title: str,
    *,
    permission: str,
    text: str,
    submit: str,
    form: type[Dialog] = Reason,
    icon: str | None = None,
    variant: ActionVariant = ActionVariant.DEFAULT,
    fits: Callable[[Any], bool] = lambda row: True,
    then: str = "change",
    shared: bool = False,
) -> Callable[[Act], Callable[..., HttpResponse]]:
    """An act on one row, or on none. `fits` says whether the row is in a state that allows it; `then` where to go.
    `shared`: it tells of machines or pools, which are not for accounts that see one organization only.

    The permission is checked, the row looked up as its page would, and a refusal told with its code.
    """

    asking = Asking(title, permission, text, submit, form, variant)

    def decorate(verb: Act) -> Callable[..., HttpResponse]:
        @wraps(verb)
        def run(page: Any, request: HttpRequest, object_id: str | None = None) -> HttpResponse:
            row = _row(page, request, object_id, permission)
            if shared and page.organization(request) is not None:
                raise PermissionDenied
            return _ask_or_do(verb, page, request, row, asking=asking, then=then)

        return described(
            run, title, permission, shared=shared, fits=fits, icon=icon, variant=variant, url_path=verb.__name__.replace("_", "-"), attrs={}
        )

    return decorate


def _ask_or_do(verb: Act, page: Any, request: HttpRequest, row: Model | None, *, asking: Asking, then: str) -> HttpResponse:
    """The dialog, until it is confirmed with all that it asks for."""
    if request.method == "POST":
        said = asking.form(request.POST, request.FILES, request=request, row=row)
    else:
        said = asking.form(request=request, row=row)
    if not said.is_valid():
        return TemplateResponse(request, "operators/dialog.html", {"dialog": asking.words, "form": said, "row": row})
    done = do(verb, page, request, row, said.cleaned_data)
    address = _next(page, row, then)
    if isinstance(done, Secret):
        return TemplateResponse(request, "operators/secret.html", {"secret": done, "next": address})
    return _go(request, address)


def offered(actions: Sequence[Any], request: HttpRequest, row: Any) -> list[Any]:
    """Those of Unfold's actions that this account may do, and that fit the row's state."""
    allowed = [action for action in actions if request.user.has_perm(action.method.permission) and _concerns(action.method, request)]
    return [action for action in allowed if row is not None and action.method.fits(row)]


def _concerns(method: Any, request: HttpRequest) -> bool:
    site: Any = admin.site
    return not method.shared or site.organization(request) is None


def described(run: B, title: str, permission: str, **more: Any) -> B:
    """The marks by which Unfold, Django and our pages find an action's name, button and dialog.

    Not Unfold's `allowed_permissions`: its check would look our permissions up in a database that may not be there yet.
    """
    marks = {"short_description": title, "permission": permission, "dialog": {"title": title}, **more}
    for name, value in marks.items():
        setattr(run, name, value)
    return run


def _row(page: Any, request: HttpRequest, object_id: str | None, permission: str) -> Model | None:
    """The row as the page's own queryset shows it. Raises PermissionDenied, Http404."""
    if not request.user.has_perm(permission):
        raise PermissionDenied
    if object_id is None:
        if not page.has_view_permission(request):
            raise PermissionDenied
        return page.subject(request)  # type: ignore[no-any-return]
    row: Model | None = page.get_object(request, object_id)
    if row is None:
        raise Http404
    if not page.has_view_permission(request, row):
        raise PermissionDenied
    return row


def do(verb: Act, page: Any, request: HttpRequest, row: Model | None, said: Said, *, name: str = "") -> Done | None:
    """Call the verb; say what came of it, and note it among the operators' deeds. None when it was refused."""
    try:
        done = verb(page, request, row, said)
    except Refusal as refusal:
        messages.error(request, f"{name}{refusal.detail} ({refusal.code})")
        return None
    words = done if isinstance(done, str) else done.words
    if isinstance(done, str):
        # A sentence that holds a link stays one: joined to nothing, since the sum would be plain text again.
        messages.success(request, words if isinstance(words, SafeString) and not name else f"{name}{words}")
    if row is not None:
        page.log_change(request, row, f"{words} {said.get('reason', '')}".strip())
    return done


def _next(page: Any, row: Model | None, then: str) -> str:
    route = f"admin:{page.opts.app_label}_{page.opts.model_name}_{then}"
    return reverse(route, args=[row.pk] if row is not None and then == "change" else None)


def _go(request: HttpRequest, address: str) -> HttpResponse:
    """The page to show next: told to HTMX in a header, since a redirect would be followed inside the dialog."""
    if request.headers.get("HX-Request"):
        return HttpResponse(headers={"HX-Redirect": address})
    return HttpResponseRedirect(address)
