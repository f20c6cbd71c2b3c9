"""The runner surface's own way in: past sessions, cookies, CSRF and everything else that is for people (§1).

Their middleware would answer a stray cookie with another one, and costs a claim a third of its time.
"""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase
from django.urls import resolve

from judging.protocol.problem_details import PREFIX, problem, refusal_of

SURFACE = (f"{PREFIX}/runner/", f"{PREFIX}/health")


class Direct:
    """Middleware, outermost: a request for the runner surface goes straight to its view."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """The view's answer, or everybody else's way."""
        if not request.path_info.startswith(SURFACE):
            return self._get_response(request)
        try:
            match = resolve(request.path_info)
            request.resolver_match = match
            response: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
        except Exception as error:
            # Views answer their own errors; what is left is an unknown route, or a fault of the framework around them.
            return problem(refusal_of(error, path=request.path))
        return response
