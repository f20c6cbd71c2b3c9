"""Who asks: Django's session, without a CSRF token but never usable from another site.

A runner's bearer token opens nothing here, since nothing here reads it.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from contests.errors import CrossSite

SAFE = {"GET", "HEAD", "OPTIONS"}
OURS = {"same-origin", "none"}


class SessionLogin(BaseAuthentication):
    """The account of the session's cookie, if it is active."""

    def authenticate(self, request: Request) -> tuple[User, None] | None:
        """Who asks, or None. Raises CrossSite, to the anonymous too: nobody may be logged in by another site."""
        refuse_other_sites(request._request)
        user = getattr(request._request, "user", None)
        return (user, None) if isinstance(user, User) and user.is_active else None

    def authenticate_header(self, request: Request) -> str:
        """What makes a refusal a 401."""
        return "Session"


class SessionLoginScheme(OpenApiAuthenticationExtension):
    """How the published schema names it."""

    target_class = SessionLogin
    name = "session"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        """An API key in a cookie."""
        return {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME}


def refuse_other_sites(request: HttpRequest) -> None:
    """Raise CrossSite when a browser says that a page of another origin makes this change.

    Browsers send Origin with every change that crosses origins; who sends neither header is a program, and a program
    has no other site's cookies. SameSite=Lax keeps the cookie from the browsers that are too old to say anything.
    """
    if request.method in SAFE:
        return
    origin = request.headers.get("Origin")
    if origin is not None and not _is_ours(origin, request):
        raise CrossSite
    if origin is None and request.headers.get("Sec-Fetch-Site", "none") not in OURS:
        raise CrossSite


def _is_ours(origin: str, request: HttpRequest) -> bool:
    """Whether this is the origin the request was sent to, or one that ASSIZE_ORIGINS trusts (`https://*.x` too)."""
    here = f"{request.scheme}://{request.get_host()}"
    return origin == here or any(_covers(trusted, origin) for trusted in settings.CSRF_TRUSTED_ORIGINS)


def _covers(trusted: str, origin: str) -> bool:
    if "://*." not in trusted:
        return trusted == origin
    scheme, _, domain = trusted.partition("://*")
    try:
        asked = urlsplit(origin)
    except ValueError:
        return False
    return asked.scheme == scheme and asked.netloc.endswith(domain)
