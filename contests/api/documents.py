"""The JSON documents that go out: camelCase, absent instead of null, instants with six digits (runner-protocol §1)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.contrib.auth.models import User
from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.utils import Direction
from rest_framework import serializers

from contests.models import Activity, Round


class Instant(serializers.DateTimeField):
    """UTC, `Z`, always six fractional digits: clients compare them as text."""

    def to_representation(self, value: Any) -> Any:
        """The moment as text."""
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ") if isinstance(value, datetime) else value


class Document(serializers.Serializer):
    """A document without the members that have no value."""

    def to_representation(self, instance: Any) -> dict[str, Any]:
        """What is there to say."""
        return {name: value for name, value in super().to_representation(instance).items() if value is not None}


class DocumentSchema(OpenApiSerializerExtension):
    """How the published schema describes documents: any member may be absent, none is null."""

    target_class = Document
    match_subclasses = True

    def map_serializer(self, auto_schema: Any, direction: Direction) -> dict[str, Any]:
        """The members, none of them required."""
        schema: dict[str, Any] = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)
        return {name: value for name, value in schema.items() if name != "required"}


class AccountDocument(Document):
    """Who is logged in."""

    id = serializers.IntegerField()
    email = serializers.CharField(source="username")
    name = serializers.SerializerMethodField()
    isOperator = serializers.BooleanField(source="is_staff")

    def get_name(self, user: User) -> str:
        """The full name, or the login name."""
        return user.get_full_name() or user.get_username()


class EnrolmentDocument(Document):
    """Somebody's place in an activity."""

    id = serializers.UUIDField()
    activity = serializers.CharField(source="activity.slug")
    name = serializers.CharField()
    joinedAt = Instant(source="joined_at")


class ProblemDocument(Document):
    """A problem as it is used in a round."""

    slug = serializers.CharField()
    title = serializers.CharField(source="problem.title")
    problemType = serializers.CharField(source="problem.problem_type")
    submissionLimit = serializers.IntegerField(source="submission_limit", allow_null=True)


class RoundDocument(Document):
    """A round; its problems only where the reader may see them (`shown`, a set of round ids)."""

    title = serializers.CharField()
    position = serializers.IntegerField()
    opensAt = Instant(source="opens_at", allow_null=True)
    closesAt = Instant(source="closes_at", allow_null=True)
    problems = serializers.SerializerMethodField()

    def get_problems(self, round_: Round) -> list[dict[str, Any]]:
        """In their order."""
        shown = round_.id in self.context["shown"]
        assignments = list(round_.assignments.all()) if shown else []
        return [dict(row) for row in ProblemDocument(assignments, many=True).data]


class ActivityDocument(Document):
    """An activity from outside."""

    slug = serializers.CharField()
    title = serializers.CharField()
    opensAt = Instant(source="opens_at", allow_null=True)
    closesAt = Instant(source="closes_at", allow_null=True)
    enrolmentOpen = serializers.BooleanField(source="enrolment_open")
    enrolled = serializers.SerializerMethodField()
    demo = serializers.BooleanField()

    def get_enrolled(self, activity: Activity) -> bool:
        """Whether the reader takes part."""
        return activity.id in self.context["enrolled"]


class ActivityWithRounds(ActivityDocument):
    """An activity from inside."""

    rounds = RoundDocument(many=True)


class ActivityList(Document):
    """What is on."""

    activities = ActivityDocument(many=True)


class JobOpened(Document):
    """The job of a new attempt."""

    jobId = serializers.UUIDField()


class MaintenanceDocument(Document):
    """How far the doors are open, since when, and why."""

    level = serializers.CharField()
    since = Instant()
    reason = serializers.CharField()
