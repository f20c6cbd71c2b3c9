"""Whose token this is: the runner's row is read again on every call and must be approved (runner-protocol §1)."""

from __future__ import annotations

import ipaddress

from django.conf import settings
from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from judging.errors import Unauthenticated
from runners import enrol
from runners.models import Runner


class RunnerBearer(BaseAuthentication):
    """`Authorization: Bearer …`, the scheme in any case. Refuses every call without a live token of an approved runner."""

    def authenticate(self, request: Request) -> tuple[Runner, enrol.Bearer]:
        """The runner and its token's facts. Raises Unauthenticated, RunnerNotApproved."""
        scheme, _, text = request.META.get("HTTP_AUTHORIZATION", "").strip().partition(" ")
        if scheme.lower() != "bearer" or not text.strip():
            raise Unauthenticated
        who = enrol.bearer(text.strip())
        enrol.seen(who, address=address_of(request))
        return who.runner, who

    def authenticate_header(self, request: Request) -> str:
        """What a 401 asks for."""
        return "Bearer"


def address_of(request: Request | HttpRequest) -> str | None:
    """The address the connection came from, never one the body names.

    Behind n proxies it is the n-th from the right of X-Forwarded-For: what stands before that anybody can write.
    """
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "")
    hops = [hop.strip() for hop in forwarded.split(",") if hop.strip()]
    text = request.META.get("REMOTE_ADDR", "")
    if settings.PROXIES and hops:
        text = hops[-min(settings.PROXIES, len(hops))]
    try:
        # Without its zone, which the database's type for addresses does not know.
        return str(ipaddress.ip_address(text.partition("%")[0]))
    except ValueError:
        return None
