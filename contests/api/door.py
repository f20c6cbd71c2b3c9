"""What every address of this surface begins with: maintenance, who asks, and what an operator may do."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import IO, Any, ClassVar
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import TextChoices
from django.http import UnreadablePostError
from rest_framework.parsers import BaseParser
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request

from contests.api.authentication import SessionLogin
from contests.scope import organization_of
from judging.errors import MalformedJson, MalformedRequest, NotAllowed, NotFound, PayloadTooLarge, ServerMaintenance, Unauthenticated
from judging.models import Installation, Maintenance, Submission
from judging.protocol.surface import Surface

# What people send here besides programs is names and reasons.
DOCUMENT_BYTES = 256 * 1024


class Json(BaseParser):
    """A JSON body of bounded size, whatever its bytes."""

    media_type = "application/json"

    def parse(self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        """The decoded body. Raises PayloadTooLarge, MalformedJson."""
        try:
            body = stream.read(DOCUMENT_BYTES + 1)
        except UnreadablePostError as gone:
            raise MalformedJson from gone
        if len(body) > DOCUMENT_BYTES:
            raise PayloadTooLarge
        try:
            return json.loads(body.decode(), parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            raise MalformedJson from error


def _no_number(word: str) -> float:
    raise ValueError(word)


class PeoplesDoor(Surface):
    """Views for people. While the installation is draining or closed they answer 503 (runner-protocol §10)."""

    authentication_classes = [SessionLogin]
    permission_classes = [IsAuthenticated]
    parser_classes = [Json]
    shut_at: ClassVar[frozenset[TextChoices]] = frozenset({Maintenance.DRAINING, Maintenance.CLOSED})

    @property
    def default_response_headers(self) -> dict[str, str]:
        """What is about one person no cache may keep."""
        return {**super().default_response_headers, "Cache-Control": "no-store"}


def refuse_in_maintenance() -> None:
    """Raise ServerMaintenance with the operator's reason unless the installation is open.

    For the login, which answers at every level, though not to everybody.
    """
    installation = Installation.read()
    if installation.level != Maintenance.OPEN:
        raise ServerMaintenance(installation.reason)


def account(request: Request) -> User:
    """Who is logged in. Raises Unauthenticated."""
    if not isinstance(request.user, User):
        raise Unauthenticated
    return request.user


def is_operator(request: Request, permission: str) -> bool:
    """Whether this account may do what operators do under this permission, second factor included where one is due."""
    user = account(request)
    if not (user.is_staff and user.has_perm(permission)):
        return False
    return not settings.OPERATOR_2FA or bool(getattr(user, "is_verified", bool)())


def only_of(request: Request) -> UUID | None:
    """The only organization whose work this account may see as an operator; None when it may see all."""
    return organization_of(account(request))


def operator(request: Request, permission: str) -> str:
    """The operator as the ledger names it, for what all organizations share. Raises NotAllowed."""
    if not is_operator(request, permission) or only_of(request) is not None:
        raise NotAllowed
    return f"user:{account(request).pk}"


def operator_of(request: Request, permission: str, submission: UUID) -> str:
    """The same, for one submission. Raises NotAllowed, and NotFound for another organization's as for an unknown one."""
    if not is_operator(request, permission):
        raise NotAllowed
    found = Submission.objects.filter(id=submission).values_list("organization", flat=True).first()
    if (only := only_of(request)) is not None and only != found:
        raise NotFound
    return f"user:{account(request).pk}"


def asked_wait(request: Request) -> float | None:
    """`waitSeconds` of the query, clamped as a runner's is; None when absent. Raises MalformedRequest for no number."""
    text = request.query_params.get("waitSeconds")
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if math.isnan(seconds):
        raise MalformedRequest(errors={"waitSeconds": ["a number of seconds"]})
    most: float = settings.LIMITS.wait_max.total_seconds()
    return min(seconds, most)
