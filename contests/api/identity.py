"""Logging in and out, by the session cookie."""

from __future__ import annotations

import django_otp
from django.contrib.auth import authenticate, login, logout
from django.contrib.auth.models import User
from django.http import HttpRequest
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from contests.api.documents import AccountDocument
from contests.api.door import PeoplesDoor, account, refuse_in_maintenance
from contests.api.inputs import Credentials
from judging.errors import RateLimited, Unauthenticated

SESSION_COOKIES = OpenApiParameter("useSessionCookies", bool, description="The login ends with the browser's session.")


class Identity(PeoplesDoor):
    """Who somebody is."""

    @extend_schema(request=Credentials, responses={200: AccountDocument}, parameters=[SESSION_COOKIES])
    def login(self, request: Request) -> Response:
        """Log in by name and password; the session cookie comes with the answer.

        Operators can at every level of maintenance, since they are to end it.
        """
        said = Credentials.read(request)
        raw = request._request
        user = _known(raw, str(said["email"]), str(said["password"]))
        if not user.is_staff:
            refuse_in_maintenance()
        device = None
        if "otp" in said:
            device = django_otp.match_token(user, str(said["otp"]))
            if device is None:
                raise Unauthenticated("The one-time password is wrong.")
        login(raw, user)
        if device is not None:
            django_otp.login(raw, device)
        if request.query_params.get("useSessionCookies", "").lower() == "true":
            raw.session.set_expiry(0)
        return Response(AccountDocument(user).data)

    @extend_schema(request=None, responses={204: None})
    def logout(self, request: Request) -> Response:
        """End the session, if there is one."""
        logout(request._request)
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(responses=AccountDocument)
    def me(self, request: Request) -> Response:
        """Who is logged in."""
        return Response(AccountDocument(account(request)).data)


def _known(request: HttpRequest, name: str, password: str) -> User:
    """The account these credentials open. Raises Unauthenticated, RateLimited after too many wrong ones."""
    user = authenticate(request, username=name, password=password)
    if getattr(request, "axes_locked_out", False):
        # Else its middleware would put a page in the place of our answer.
        request.axes_locked_out = False  # type: ignore[attr-defined]
        raise RateLimited("Too many wrong passwords; try again later.")
    if not isinstance(user, User):
        raise Unauthenticated("Wrong login name or password.")
    return user
