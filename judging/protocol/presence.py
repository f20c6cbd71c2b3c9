"""Signs of life: the runner's heartbeat, the server's health, and the trials there are not yet."""

from __future__ import annotations

from django.db import DatabaseError, InterfaceError
from django.http import HttpResponse
from msgspec import UNSET, UnsetType
from rest_framework.request import Request

from judging import files
from judging.models import Installation, Maintenance
from judging.protocol import serializers
from judging.protocol.documents import Health, MaintenanceNotice
from judging.protocol.schema import AUTHENTICATED, NOTHING, described
from judging.protocol.surface import RunnerSurface, Surface, document, nothing
from judging.records import instant


class Presence(RunnerSurface):
    """Calls a runner makes to be seen. That it authenticated has been noted by then."""

    @described("sendHeartbeat", answers=NOTHING, problems=AUTHENTICATED)
    def heartbeat(self, request: Request) -> HttpResponse:
        """I am here."""
        return nothing()

    @described("claimTrial", answers=NOTHING, problems=AUTHENTICATED)
    def claim_trial(self, request: Request) -> HttpResponse:
        """No trial for you: there are none, and stock runners ask after every empty claim."""
        return nothing()


class HealthCheck(Surface):
    """How the server is; answered at every level of maintenance, whatever is broken."""

    shut_at = frozenset()

    @described("readHealth", answers={200: serializers.Health}, problems=(405, 500))
    def health(self, request: Request) -> HttpResponse:
        """Whether files can be kept and the database answers, and what maintenance is under way."""
        try:
            maintenance = _notice(Installation.read())
        except (DatabaseError, InterfaceError):
            return document(Health(storage="unavailable"))
        return document(Health(storage="ok" if files.storage_works() else "unavailable", maintenance=maintenance))


def _notice(installation: Installation) -> MaintenanceNotice | UnsetType:
    if installation.level == Maintenance.OPEN:
        return UNSET
    since = instant(installation.since) if installation.since else UNSET
    return MaintenanceNotice(level=installation.level, since=since, reason=installation.reason or UNSET)
