"""Contests: who organises, what is on, who takes part. Vocabulary: runner-protocol.md, queue.md §1."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from judging.models import Lane, Problem, ProblemVersion
from judging.models.work import PRIORITIES
from judging.states import Priority
from runners.keys import new_id

POOL_HELP = "Runners with one of these tags judge it. Empty: as the activity says, or `default`."


class Grain(models.TextChoices):
    """What is judged one at a time (queue.md §1)."""

    SUBMISSION = "submission", "each submission by itself"
    CONTESTANT = "contestant", "one contestant's tries at one assignment, in order"


class Organization(models.Model):
    """A tenant: owns activities and problems; none is a tenant of its own, not a wildcard."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    slug = models.SlugField(max_length=64, unique=True)
    name = models.CharField(max_length=200)

    class Meta:
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.name


class Activity(models.Model):
    """A contest or course. `pools` empty means `default`; a round's own pools win (seed 000).

    Open from `opens_at` (None: since ever) until `closes_at` (None: for ever). `demo` alone may be judged by
    runners without isolation (runner-agent §3).
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, null=True, blank=True, related_name="activities")
    slug = models.SlugField(max_length=64, unique=True)
    title = models.CharField(max_length=200)
    opens_at = models.DateTimeField(null=True, blank=True)
    closes_at = models.DateTimeField(null=True, blank=True)
    pools = ArrayField(models.CharField(max_length=64), default=list, blank=True, help_text=POOL_HELP)
    priority = models.PositiveSmallIntegerField(choices=PRIORITIES, default=Priority.CONTEST)
    grain = models.CharField(max_length=10, choices=Grain.choices, default=Grain.SUBMISSION)
    enrolment_open = models.BooleanField(default=False)
    demo = models.BooleanField(default=False, help_text="Rehearsal: accepts results judged without isolation.")
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["-created_at"]
        verbose_name_plural = "activities"
        permissions = [
            ("retag_activity", "Can change the pools that judge an activity"),
            ("reserve_room", "Can reserve machines for an activity and give them back"),
        ]
        constraints = [
            models.CheckConstraint(
                name="activity_opens_before_it_closes",
                condition=Q(opens_at__isnull=True) | Q(closes_at__isnull=True) | Q(opens_at__lt=F("closes_at")),
            ),
        ]

    def __str__(self) -> str:
        return self.title


class Round(models.Model):
    """A part of an activity, with its own window and pools where it has any."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    activity = models.ForeignKey(Activity, on_delete=models.PROTECT, related_name="rounds")
    position = models.PositiveSmallIntegerField(default=1)
    title = models.CharField(max_length=200)
    opens_at = models.DateTimeField(null=True, blank=True)
    closes_at = models.DateTimeField(null=True, blank=True)
    pools = ArrayField(models.CharField(max_length=64), default=list, blank=True, help_text=POOL_HELP)

    class Meta:
        ordering = ["activity", "position"]
        permissions = [("retag_round", "Can change the pools that judge a round")]
        constraints = [
            models.UniqueConstraint(name="round_position_once", fields=["activity", "position"]),
            models.CheckConstraint(
                name="round_opens_before_it_closes",
                condition=Q(opens_at__isnull=True) | Q(closes_at__isnull=True) | Q(opens_at__lt=F("closes_at")),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.activity}: {self.title}"


class Assignment(models.Model):
    """One library problem used in one round; owns its lane, which carries its configuration.

    `version` pins a revision; None follows the newest. `submission_limit` is per participant, None: no limit.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    round = models.ForeignKey(Round, on_delete=models.PROTECT, related_name="assignments")
    problem = models.ForeignKey(Problem, on_delete=models.PROTECT, related_name="assignments")
    version = models.ForeignKey(ProblemVersion, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    slug = models.SlugField(max_length=64, help_text="What participants call it, such as A.")
    position = models.PositiveSmallIntegerField(default=1)
    lane = models.OneToOneField(Lane, on_delete=models.PROTECT, related_name="assignment", editable=False)
    submission_limit = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        ordering = ["round", "position", "slug"]
        constraints = [
            models.UniqueConstraint(name="assignment_slug_once", fields=["round", "slug"]),
        ]

    def __str__(self) -> str:
        return f"{self.slug} ({self.round})"


class Participant(models.Model):
    """Somebody, or a team, who takes part in one activity through one account."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    activity = models.ForeignKey(Activity, on_delete=models.PROTECT, related_name="participants")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="participations")
    name = models.CharField(max_length=200)
    joined_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["activity", "name"]
        constraints = [
            models.UniqueConstraint(name="participant_once", fields=["activity", "user"]),
        ]

    def __str__(self) -> str:
        return self.name


class Reservation(models.Model):
    """Machines set apart for one activity under a pool of its own, with what to put back when they are given back.

    `pools_before` are the activity's own from before.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    activity = models.OneToOneField(Activity, on_delete=models.PROTECT, related_name="reservation")
    pool = models.CharField(max_length=64, unique=True)
    pools_before = ArrayField(models.CharField(max_length=64), default=list)
    reserved_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return self.pool


class ReservedRunner(models.Model):
    """One machine of a reservation, and its tags from before. The id alone: a machine may be forgotten meanwhile."""

    reservation = models.ForeignKey(Reservation, on_delete=models.CASCADE, related_name="runners")
    runner = models.UUIDField(unique=True)
    tags_before = ArrayField(models.CharField(max_length=64), default=list)

    def __str__(self) -> str:
        return str(self.runner)


class Operator(models.Model):
    """An operator's account that belongs to one organization and sees nothing of another (contests.scope)."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="operates")
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, related_name="operators")

    def __str__(self) -> str:
        return f"{self.user} of {self.organization}"


class Publication(models.Model):
    """Final results of an activity as an operator published them. A trigger refuses every change: a later one supersedes.

    `document` is canonical JSON with the digest of `anchor`, an anchor file of the activity's threads at that moment;
    `results_sha256` is over its results alone. `by` is the ledger's name for who published.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    activity = models.ForeignKey(Activity, on_delete=models.PROTECT, related_name="publications")
    number = models.PositiveIntegerField()
    at = models.DateTimeField()
    by = models.CharField(max_length=100)
    reason = models.TextField()
    document = models.TextField()
    sha256 = models.CharField(max_length=64)
    results_sha256 = models.CharField(max_length=64)
    anchor = models.TextField()

    class Meta:
        ordering = ["activity", "-number"]
        permissions = [("publish_results", "Can publish the final results of an activity")]
        constraints = [
            models.UniqueConstraint(name="publication_number_once", fields=["activity", "number"]),
        ]

    def __str__(self) -> str:
        return f"results of {self.activity}, number {self.number}"
