"""The documents of what was sent in and of the attempts at judging it."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from contests.api.documents import Document, Instant
from contests.sent import current, is_aside
from judging.models import Job, Result, Submission


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
