"""Whose token this is: the runner's row is read again on every call and must be approved (runner-protocol §1)."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from judging.errors import Unauthenticated
from runners import keys
from runners.errors import RunnerNotApproved
from runners.models import Runner, RunnerState
from runners.prepared import prepared_cursor
from runners.presence import Bearer, seen

STANDING = "SELECT level, reason, runner, problem_types, external, tags, state, remaining, unseen FROM judge_standing(%s)"
_RUNNER = ("id", "problem_types", "external", "tags", "state")
"""What is read of the runner, in the order of the model's fields, as from_db wants it."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How far the doors are open and why, and whom the call's token speaks for: nobody, without a live one."""

    level: str
    reason: str
    who: Bearer | None


def standing(request: Request) -> Standing:
    """What must be known before a runner's call is looked at, in one question, asked once a request."""
    kept: Standing | None = getattr(request, "standing", None)
    if kept is None:
        with prepared_cursor() as cursor:
            cursor.execute(STANDING, [keys.digest(_bearer_text(request))])
            level, reason, *runner, remaining, unseen = cursor.fetchone()
        found = runner[0] is not None
        # What is not read here is read when somebody asks for it: hardly any call does.
        who = Bearer(Runner.from_db("default", _RUNNER, runner), remaining.total_seconds(), unseen) if found else None
        kept = request.standing = Standing(level, reason, who)  # type: ignore[attr-defined]
    return kept


def _bearer_text(request: Request) -> str:
    """The token, empty when the header names none: no token has the digest of nothing."""
    scheme, _, text = request.META.get("HTTP_AUTHORIZATION", "").strip().partition(" ")
    return text.strip() if scheme.lower() == "bearer" else ""


class RunnerBearer(BaseAuthentication):
    """`Authorization: Bearer …`, the scheme in any case. Refuses every call without a live token of an approved runner."""

    def authenticate(self, request: Request) -> tuple[Runner, Bearer]:
        """The runner and its token's facts. Raises Unauthenticated, RunnerNotApproved."""
        who = standing(request).who
        if who is None:
            raise Unauthenticated
        if who.runner.state != RunnerState.APPROVED:
            raise RunnerNotApproved
        seen(who, address=address_of(request))
        return who.runner, who

    def authenticate_header(self, request: Request) -> str:
        """What a 401 asks for."""
        return "Bearer"


def address_of(request: Request | HttpRequest) -> str | None:
    """The address the connection came from, never one the body names."""
    return address_in(request.META)


def address_in(meta: Mapping[str, Any]) -> str | None:
    """The same, out of a WSGI environ's members.

    Behind n proxies it is the n-th from the right of X-Forwarded-For: what stands before that anybody can write.
    """
    forwarded = meta.get("HTTP_X_FORWARDED_FOR", "")
    hops = [hop.strip() for hop in forwarded.split(",") if hop.strip()]
    text = meta.get("REMOTE_ADDR", "")
    if settings.PROXIES and hops:
        text = hops[-min(settings.PROXIES, len(hops))]
    try:
        # Without its zone, which the database's type for addresses does not know.
        return str(ipaddress.ip_address(text.partition("%")[0]))
    except ValueError:
        return None
