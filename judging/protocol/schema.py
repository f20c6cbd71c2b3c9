"""The OpenAPI description of the runner surface: what each view says of itself, and the problems they share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any, TypeVar
from uuid import UUID

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema

from judging.protocol.problem_details import MEDIA_TYPE
from judging.protocol.serializers import Problem

View = TypeVar("View", bound=Callable[..., Any])

OPEN = (400, 405, 413, 429, 500, 503)
"""The problems of a call that needs no token."""

AUTHENTICATED = (400, 401, 403, 405, 413, 500, 503)
"""The problems of a call by an approved runner."""

GATED = (*AUTHENTICATED, 404, 409)
"""The problems of a call about a held job."""

BYTES = {(int(status), "application/octet-stream"): OpenApiTypes.BINARY for status in (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT)}
NOT_MODIFIED = {int(HTTPStatus.NOT_MODIFIED): OpenApiResponse(description="The caller has these bytes already.")}
NOTHING = {int(HTTPStatus.NO_CONTENT): OpenApiResponse(description="Done, or nothing to say.")}


class RunnerBearerScheme(OpenApiAuthenticationExtension):
    """The handshake's token."""

    target_class = "judging.protocol.authentication.RunnerBearer"
    name = "runnerBearer"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """What OpenAPI calls it."""
        return {"type": "http", "scheme": "bearer", "description": "From POST /api/v1/runner/auth/token."}


def described(
    operation: str,
    *,
    request: Any = None,
    answers: Mapping[Any, Any],
    problems: Iterable[int],
    path_ids: Iterable[str] = (),
) -> Callable[[View], View]:
    """Say what a view takes and answers. `operation` is its id for ever: generated clients call it by that.

    `request` is the serializer of a JSON body, or serializers by media type.
    """
    body = request if request is None or isinstance(request, dict) else {"application/json": request}
    told = {(int(status), MEDIA_TYPE): Problem for status in sorted(set(problems))}
    parameters = [OpenApiParameter(name, UUID, OpenApiParameter.PATH) for name in path_ids]
    decorate: Callable[[View], View] = extend_schema(
        operation_id=operation,
        request=body,
        responses={**answers, **told},
        parameters=parameters,
        tags=["runner"],
    )
    return decorate
