"""How a refusal is told: RFC 9457 problem documents for everything under /api/v1 (runner-protocol §1).

`{status, title, detail, code, errors?}`; `code` is the stable member that clients switch on.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import msgspec
import structlog
from django.core.exceptions import DisallowedHost, PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from django.views.decorators.csrf import csrf_exempt
from rest_framework import exceptions
from rest_framework.views import set_rollback

from judging.durable import storage_refusal
from judging.errors import (
    MalformedJson,
    MalformedRequest,
    NotAllowed,
    NotFound,
    PayloadTooLarge,
    RateLimited,
    Refusal,
    Unauthenticated,
)
from judging.text import storable

PREFIX = "/api/v1"
MEDIA_TYPE = "application/problem+json"

log = structlog.get_logger()


class MethodNotAllowed(Refusal):
    """This method is not allowed here."""

    code = "method_not_allowed"
    status = HTTPStatus.METHOD_NOT_ALLOWED


class HostUnknown(Refusal):
    """This site is not reached by that name. Its operators list its names in ASSIZE_HOSTS."""

    code = "host.unknown"
    status = HTTPStatus.BAD_REQUEST


class UnsupportedMediaType(Refusal):
    """This endpoint does not take that content type."""

    code = "unsupported_media_type"
    status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE


class NotAcceptable(Refusal):
    """This endpoint answers in no form that was asked for."""

    code = "not_acceptable"
    status = HTTPStatus.NOT_ACCEPTABLE


class InternalError(Refusal):
    """Something went wrong on this side; it has been noted."""

    code = "internal_error"
    status = HTTPStatus.INTERNAL_SERVER_ERROR


_TRANSLATED: list[tuple[type[Exception] | tuple[type[Exception], ...], type[Refusal]]] = [
    ((exceptions.NotAuthenticated, exceptions.AuthenticationFailed), Unauthenticated),
    ((exceptions.PermissionDenied, PermissionDenied), NotAllowed),
    ((exceptions.NotFound, Http404), NotFound),
    (exceptions.MethodNotAllowed, MethodNotAllowed),
    (exceptions.NotAcceptable, NotAcceptable),
    (exceptions.UnsupportedMediaType, UnsupportedMediaType),
    (exceptions.Throttled, RateLimited),
    (exceptions.ParseError, MalformedJson),
    (RequestDataTooBig, PayloadTooLarge),
    (DisallowedHost, HostUnknown),
    # A caller that hangs up in the middle hears nothing; the log has the right word.
    ((exceptions.APIException, SuspiciousOperation, UnreadablePostError), MalformedRequest),
]
"""What frameworks raise and the refusal that says it here; the first that fits counts."""

_BY_STATUS = {
    kind.status: kind
    for kind in (
        MalformedRequest,
        Unauthenticated,
        NotAllowed,
        NotFound,
        MethodNotAllowed,
        PayloadTooLarge,
        UnsupportedMediaType,
        RateLimited,
        InternalError,
    )
}


def refusal_of(error: Exception, *, path: str = "") -> Refusal:
    """The refusal an exception means to the caller. What nobody foresaw is an InternalError, and is logged."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, OperationalError | InterfaceError):
        return storage_refusal(error)
    if isinstance(error, exceptions.ValidationError):
        return MalformedRequest(errors=_member_errors(error.detail))
    for kinds, refusal in _TRANSLATED:
        if isinstance(error, kinds):
            return refusal()
    log.error("request_failed", path=path, exc_info=error)
    return InternalError()


def problem(refusal: Refusal, *, challenge: str | None = None) -> HttpResponse:
    """The response that tells a refusal; `challenge` is what a 401 asks for."""
    document: dict[str, Any] = {
        "status": int(refusal.status),
        "title": HTTPStatus(refusal.status).phrase,
        "detail": refusal.detail,
        "code": refusal.code,
    }
    if refusal.errors:
        document["errors"] = refusal.errors
    response = HttpResponse(msgspec.json.encode(document), status=refusal.status, content_type=MEDIA_TYPE)
    if refusal.retry_after is not None:
        response["Retry-After"] = str(refusal.retry_after)
    if challenge and refusal.status == HTTPStatus.UNAUTHORIZED:
        response["WWW-Authenticate"] = challenge
    return response


def answer(error: Exception, context: dict[str, Any]) -> HttpResponse:
    """DRF's exception handler: every exception of a view as a problem document."""
    set_rollback()
    view, request = context.get("view"), context.get("request")
    refusal = refusal_of(error, path=request.path if request is not None else "")
    challenge = view.get_authenticate_header(request) if view is not None else None
    response = problem(refusal, challenge=challenge)
    if refusal.status == HTTPStatus.METHOD_NOT_ALLOWED and view is not None:
        response["Allow"] = ", ".join(view.allowed_methods)
    return response


def _member_errors(detail: Any) -> dict[str, list[str]]:
    """DRF's nested validation errors as one list of sentences a member; they quote what came, so it must be text."""
    if not isinstance(detail, dict):
        return {"": [storable(str(sentence)) for sentence in detail]}
    sentences = {name: said if isinstance(said, list) else [said] for name, said in detail.items()}
    return {str(name): [storable(str(sentence)) for sentence in said] for name, said in sentences.items()}


@csrf_exempt
def unknown_route(request: HttpRequest, *_: str) -> HttpResponse:
    """Whatever stands under the prefix and nowhere else."""
    return problem(NotFound("There is nothing at this address."))


class ProblemDetails:
    """Middleware, outermost: what the site itself says of an error under the prefix, programs hear as a problem."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass everything on but pages of errors, such as a bad Host header's."""
        response = self._get_response(request)
        if response.status_code < HTTPStatus.BAD_REQUEST or not _is_ours(request.path_info):
            return response
        if response.get("Content-Type") == MEDIA_TYPE:
            return response
        try:
            request.get_host()
        except DisallowedHost as error:
            return problem(refusal_of(error))
        return problem(_BY_STATUS.get(HTTPStatus(response.status_code), InternalError)())


def _is_ours(path: str) -> bool:
    return path == PREFIX or path.startswith(f"{PREFIX}/")
