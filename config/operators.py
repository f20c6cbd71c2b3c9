"""The operators' site: who gets in, and what its pages may load.

Read while Django sets its apps up, so that it may import no model.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from importlib import import_module
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.admin.apps import AdminConfig
from django.contrib.messages.storage.base import BaseStorage, Message
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from unfold.sites import UnfoldAdminSite

# Unfold's scripts are evaluated from attributes and its styles are inline; neither may come from elsewhere.
CONTENT_SECURITY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' 'unsafe-eval'",
        "style-src 'self' 'unsafe-inline'",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)


class OperatorsConfig(AdminConfig):
    """Django's admin with our site in the place of its own, and the accounts registered on it."""

    default_site = "config.operators.OperatorsSite"

    def ready(self) -> None:
        """Let every app register its pages, then put ours in the place of those that third parties registered."""
        super().ready()
        import_module("config.accounts")


class OperatorsSite(UnfoldAdminSite):
    """The admin. Where the setting asks for it, a password alone opens nothing."""

    index_title = "Dashboard"

    def __init__(self, name: str = "admin") -> None:
        super().__init__(name)
        # Deletes whole selections without asking for a reason. Our acts on many are judging.admin.actions.bulk_act.
        self.disable_action("delete_selected")

    def has_permission(self, request: HttpRequest) -> bool:
        """Staff, and with a second factor shown in this session where OPERATOR_2FA is on."""
        allowed = bool(super().has_permission(request))
        user: Any = request.user
        return allowed and (not settings.OPERATOR_2FA or bool(user.is_verified()))

    def organization(self, request: HttpRequest) -> UUID | None:
        """The only organization this account may see; None when it may see every one. Asked once a request."""
        asked: Any = request
        if not hasattr(asked, "_organization"):
            asked._organization = self.organization_of(request.user)
        found: UUID | None = asked._organization
        return found

    def organization_of(self, user: Any) -> UUID | None:
        """The same of an account. Loaded when it is asked, since it reads a model."""
        found: UUID | None = import_module("contests.scope").organization_of(user)
        return found

    def autocomplete_view(self, request: HttpRequest) -> HttpResponse:
        """As Django has it, for words that PostgreSQL's text can hold."""
        if any("\x00" in word for word in request.GET.getlist("term")):
            raise BadRequest("No name holds a NUL.")
        found: HttpResponse = super().autocomplete_view(request)
        return found

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Log an operator in, for as long as a shift lasts."""
        response: HttpResponse = super().login(request, extra_context)
        if request.method == "POST" and response.status_code == HTTPStatus.FOUND:
            request.session.set_expiry(settings.OPERATOR_SESSION)
        return response


class ContentSecurity:
    """Middleware: no page of the admin loads, embeds or sends anything elsewhere, or is shown inside another page."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if request.path.startswith(reverse("admin:index")):
            response.headers.setdefault("Content-Security-Policy", CONTENT_SECURITY)
        return response


class MessagesForPages:
    """Middleware: what an operator is told of an act waits for the next page, though a part of one is fetched before.

    A part that keeps itself fresh is cut out of a whole page, which would have shown the message to nobody. It stands
    after the middleware of the messages, whose storage it puts out of reach.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.method == "GET" and "HX-Request" in request.headers:
            request._messages = Silence(request)  # type: ignore[attr-defined]
        return self.get_response(request)


class Silence(BaseStorage):
    """Messages that are neither read nor written."""

    def _get(self, *_args: Any, **_options: Any) -> tuple[list[Message], bool]:
        return [], True

    def _store(self, messages: list[Message], *_args: Any, **_options: Any) -> list[Message]:
        return []
