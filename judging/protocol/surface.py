"""What all views of the runner surface share: who calls, whether the doors are open, the body, the answer.

No session, no cookie, no CSRF token, no redirect, and no content negotiation: one form in, one form out (§1).
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, ClassVar
from uuid import UUID

import msgspec
from django.conf import settings
from django.db import models
from django.http import HttpResponse
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.viewsets import ViewSet

from judging.errors import NotFound, PayloadTooLarge, ServerMaintenance
from judging.files.forms import declared_length
from judging.models import Installation, Maintenance
from judging.protocol.authentication import RunnerBearer, standing
from judging.protocol.reading import Reading, identifier
from runners.presence import Bearer

_CHUNK = 64 * 1024


class Surface(ViewSet):
    """A view that needs no token; `shut_at` are the levels of maintenance that close it (runner-protocol §10)."""

    authentication_classes = []
    permission_classes = []
    parser_classes = []
    metadata_class = None
    shut_at: ClassVar[frozenset[models.TextChoices]] = frozenset({Maintenance.CLOSED})

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Before the body is read: maintenance first, then who calls. Raises ServerMaintenance."""
        if self.shut_at:
            level, reason = self.doors(request)
            if level in self.shut_at:
                raise ServerMaintenance(reason)
        super().initial(request, *args, **kwargs)

    def doors(self, request: Request) -> tuple[str, str]:
        """How far the doors are open, and why."""
        installation = Installation.read()
        return installation.level, installation.reason

    def perform_content_negotiation(self, request: Request, force: bool = False) -> tuple[BaseRenderer, str]:  # noqa: FBT001, FBT002
        """Whatever is asked for, the answer has one form."""
        renderer = self.get_renderers()[0]
        return renderer, renderer.media_type or ""


class RunnerSurface(Surface):
    """A view for approved runners alone."""

    authentication_classes = [RunnerBearer]

    def doors(self, request: Request) -> tuple[str, str]:
        """As ever, and who calls in the same round trip."""
        found = standing(request)
        return found.level, found.reason


def caller(request: Request) -> Bearer:
    """The runner that calls, and its token's facts."""
    who = request.auth
    assert isinstance(who, Bearer), "only a RunnerSurface has a caller"
    return who


def path_id(text: str) -> UUID:
    """The id in a path. Raises NotFound for what is none: an id nobody issued."""
    found = identifier(text)
    if found is None:
        raise NotFound
    return found


def reading(request: Request) -> Reading:
    """The JSON body. Raises PayloadTooLarge, MalformedJson, MalformedRequest.

    What content type it claims is not looked at: nothing but JSON is understood here.
    """
    return Reading.of(body_of(request, most_bytes=settings.JSON_BODY_BYTES))


def body_of(request: Request, *, most_bytes: int) -> bytes:
    """The body's bytes; one that is declared too long is not read. Raises PayloadTooLarge."""
    if declared_length(request) > most_bytes:
        raise PayloadTooLarge(f"The body may have at most {most_bytes} bytes.")
    body = bytearray()
    while chunk := request.read(_CHUNK):
        body += chunk
        if len(body) > most_bytes:
            raise PayloadTooLarge(f"The body may have at most {most_bytes} bytes.")
    return bytes(body)


def document(value: object, *, status: HTTPStatus = HTTPStatus.OK) -> HttpResponse:
    """A JSON answer, which nobody may keep."""
    response = HttpResponse(msgspec.json.encode(value), status=status, content_type="application/json")
    response["Cache-Control"] = "no-store"
    return response


def nothing() -> HttpResponse:
    """204."""
    response = HttpResponse(status=HTTPStatus.NO_CONTENT)
    del response["Content-Type"]
    return response
