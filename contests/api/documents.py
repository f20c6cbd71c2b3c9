"""The JSON documents that go out: camelCase, absent instead of null, instants with six digits (runner-protocol §1)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.contrib.auth.models import User
from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.utils import Direction
from rest_framework import serializers

from contests.models import Activity, Round
from contests.sent import current, is_aside
from judging.models import Job, Result, Submission


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


class DeliveryDocument(Document):
    """One hand-out of an attempt, for operators. `ending` is absent while the runner holds it."""

    number = serializers.IntegerField(source="fence")
    runner = serializers.CharField(source="runner.name", default=None)
    runnerId = serializers.UUIDField(source="runner_id")
    claimedAt = Instant(source="claimed_at")
    endedAt = Instant(source="ended_at")
    ending = serializers.SerializerMethodField()

    def get_ending(self, delivery: Any) -> str | None:
        """How it ended, in the ledger's word."""
        return delivery.ending or None


class Judged:
    """Of a document with the members verdict, score and maxScore: what they say."""

    def counting(self, instance: Any) -> Result | None:
        """The result that counts, if there is one."""
        raise NotImplementedError

    def get_verdict(self, instance: Any) -> str | None:
        """The runner's word, while it counts."""
        return getattr(self.counting(instance), "verdict", None) or None

    def get_score(self, instance: Any) -> float | None:
        """Points, if the problem's type gives any."""
        return getattr(self.counting(instance), "score", None)

    def get_maxScore(self, instance: Any) -> float | None:  # noqa: N802 - named by the member
        """The most there could be."""
        return getattr(self.counting(instance), "max_score", None)


class AttemptDocument(Judged, Document):
    """One attempt at judging a submission. Reason and history are the operators' (`evidence` in the context)."""

    jobId = serializers.UUIDField(source="id")
    attempt = serializers.IntegerField()
    state = serializers.CharField()
    verdict = serializers.SerializerMethodField()
    score = serializers.SerializerMethodField()
    maxScore = serializers.SerializerMethodField()
    voided = serializers.SerializerMethodField()
    aside = serializers.SerializerMethodField()
    deliveries = serializers.IntegerField()
    createdAt = Instant(source="created_at")
    finishedAt = Instant(source="finished_at")
    reason = serializers.CharField()
    history = DeliveryDocument(source="delivery_set", many=True)

    def get_fields(self) -> dict[str, Any]:
        """Without what only operators see, for everybody else."""
        fields = super().get_fields()
        if not self.context.get("evidence", True):
            del fields["reason"], fields["history"]
        return fields

    def counting(self, instance: Job) -> Result | None:
        """The attempt's own, unless it was voided."""
        return _counting(instance)

    def get_voided(self, job: Job) -> bool | None:
        """Present when an operator took the result out of the count."""
        return True if job.voided_at else None

    def get_aside(self, job: Job) -> bool | None:
        """Present while a rejudging keeps the result aside, which only operators are told of."""
        return True if is_aside(job) else None


def _counting(job: Job | None) -> Result | None:
    """The result of an attempt, unless it has none or it was voided."""
    return getattr(job, "result", None) if job is not None and job.voided_at is None else None


class SubmissionDocument(Judged, Document):
    """A submission: what the attempt that speaks for it says, and all attempts, newest first."""

    id = serializers.UUIDField()
    state = serializers.SerializerMethodField()
    verdict = serializers.SerializerMethodField()
    score = serializers.SerializerMethodField()
    maxScore = serializers.SerializerMethodField()
    activity = serializers.CharField(source="lane.assignment.round.activity.slug")
    problem = serializers.CharField(source="lane.assignment.slug")
    fileName = serializers.SerializerMethodField()
    createdAt = Instant(source="created_at")
    excluded = serializers.SerializerMethodField()
    attempts = AttemptDocument(source="jobs", many=True)

    def get_state(self, submission: Submission) -> str | None:
        """Absent once its jobs were removed with time."""
        return getattr(_speaking(submission), "state", None)

    def counting(self, instance: Submission) -> Result | None:
        """That of the attempt that speaks for it; an excluded submission has none."""
        return None if instance.excluded_at else _counting(_speaking(instance))

    def get_excluded(self, submission: Submission) -> bool | None:
        """Present when an operator took the whole submission out of the count."""
        return True if submission.excluded_at else None

    def get_fileName(self, submission: Submission) -> str | None:  # noqa: N802 - named by the member
        """The source's name."""
        return next((file.file_name for file in submission.files.all()), None)


def _speaking(submission: Submission) -> Job | None:
    return current(list(submission.jobs.all()))


class SubmissionList(Document):
    """A page of submissions, newest first; `before` asks for the next one, absent at the end."""

    submissions = SubmissionDocument(many=True)
    before = serializers.UUIDField(allow_null=True)


class JobOpened(Document):
    """The job of a new attempt."""

    jobId = serializers.UUIDField()


class MaintenanceDocument(Document):
    """How far the doors are open, since when, and why."""

    level = serializers.CharField()
    since = Instant()
    reason = serializers.CharField()


class PublicationDocument(Document):
    """Final results as they were published; `superseded` says why they are no longer what counts."""

    number = serializers.IntegerField()
    at = Instant()
    sha256 = serializers.CharField()
    superseded = serializers.SerializerMethodField()

    def get_superseded(self, row: Any) -> str | None:
        """Nothing while it is what counts."""
        return row.superseded or None


class PublicationList(Document):
    """Everything that was published of an activity."""

    publications = PublicationDocument(many=True)
