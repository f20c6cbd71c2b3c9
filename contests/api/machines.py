"""The documents that tell operators of their machines."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings
from rest_framework import serializers

from contests.api.documents import Document, Instant
from runners.clock import Clock
from runners.models import Runner


class RunnerDocument(Document):
    """A machine, for operators; read with `runners_now`."""

    id = serializers.UUIDField()
    fingerprint = serializers.CharField()
    name = serializers.CharField()
    product = serializers.CharField()
    version = serializers.CharField()
    problemTypes = serializers.ListField(source="problem_types", child=serializers.CharField())
    external = serializers.BooleanField()
    tags = serializers.ListField(child=serializers.CharField())
    state = serializers.CharField()
    connected = serializers.SerializerMethodField()
    jobsDone = serializers.IntegerField(source="jobs_done")
    registeredAt = Instant(source="registered_at")
    approvedAt = Instant(source="approved_at")
    revokedAt = Instant(source="revoked_at")
    lastSeenAt = Instant(source="last_seen_at")

    def get_connected(self, runner: Runner) -> bool:
        """Whether it spoke lately, by the database's clock."""
        now: datetime | None = getattr(runner, "now", None)
        seen = runner.last_seen_at
        return bool(now and seen and now - seen <= settings.LIMITS.connected_within)


def runners_now() -> Any:
    """All runners, newest first, each with the database's clock beside it."""
    return Runner.objects.annotate(now=Clock()).order_by("-registered_at", "-id")


class RunnerList(Document):
    """All machines."""

    runners = RunnerDocument(many=True)


class RunnerRevoked(Document):
    """A machine that judges no more, and the jobs it had to give back."""

    runner = RunnerDocument()
    returned = serializers.ListField(child=serializers.UUIDField())
