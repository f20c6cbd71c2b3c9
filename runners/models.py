"""Runner keys and what proves them: registered keys, nonces, bearer tokens, pools.

Authority: seed 000 and runner-protocol §3. The public key is the identity; keys are never rotated.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from runners.keys import new_id

DEFAULT_POOL = "default"


class RunnerState(models.TextChoices):
    """What an operator has said of a key. `revoked` is for ever (runner-protocol §3)."""

    PENDING = "pendingApproval", "pending approval"
    APPROVED = "approved", "approved"
    REVOKED = "revoked", "revoked"


class Transport(models.TextChoices):
    """How a runner talks to this server."""

    NONE = "", "not connected"
    REST = "rest", "REST"
    CHANNEL = "channel", "channel"


class Pool(models.Model):
    """A tag shared by work and runners, with what an operator wants to say about it.

    What its machines are made of is declared, for runners on the channel to be told (channel-protocol §2 and §7).
    """

    name = models.CharField(max_length=64, unique=True)
    uuid = models.UUIDField(default=new_id, unique=True, editable=False)
    os = models.CharField("operating system", max_length=32, default="linux")
    architecture = models.CharField(max_length=32, default="x86_64")
    sandbox = models.CharField(max_length=32, default="firecracker")
    cpu = models.PositiveIntegerField("processors", default=1, validators=[MinValueValidator(1)])
    memory_bytes = models.PositiveBigIntegerField(default=2**30, validators=[MinValueValidator(1)])
    disk_bytes = models.PositiveBigIntegerField(default=2**30, validators=[MinValueValidator(1)])
    network = models.BooleanField(default=False)
    description = models.CharField(max_length=200, blank=True, default="")
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Runner(models.Model):
    """A judging machine: one Ed25519 key, what it declares of itself, and what operators decided.

    `tags` belong to the operator after the first registration; an empty list means `default`.
    `jobs_done` counts judged results (runner-protocol §8). `slug` names it on the channel, once it has a key there.
    `os`, `arch`, `release_channel` and `checksum` are what it says of itself there. `connected_since` is true only while
    it is seen: a server that was killed leaves it behind.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    fingerprint = models.CharField(max_length=64, unique=True, editable=False)
    public_key = models.BinaryField(max_length=32, editable=False)
    name = models.CharField(max_length=128)
    product = models.CharField(max_length=128, blank=True, default="")
    version = models.CharField(max_length=64, blank=True, default="")
    problem_types = ArrayField(models.TextField(), default=list, blank=True)
    external = models.BooleanField(default=False)
    tags = ArrayField(models.CharField(max_length=64), default=list, blank=True)
    machine = models.TextField(blank=True, default="", help_text="Compact JSON; shown, never read.")
    state = models.CharField(max_length=16, choices=RunnerState.choices, default=RunnerState.PENDING, editable=False)
    address = models.GenericIPAddressField(null=True, blank=True, editable=False)
    registered_at = models.DateTimeField(db_default=Now(), editable=False)
    approved_at = models.DateTimeField(null=True, editable=False)
    revoked_at = models.DateTimeField(null=True, editable=False)
    revoke_reason = models.CharField(max_length=500, blank=True, default="", editable=False)
    last_seen_at = models.DateTimeField(null=True, editable=False)
    jobs_done = models.PositiveBigIntegerField(default=0, editable=False)
    slug = models.SlugField(max_length=64, unique=True, null=True, blank=True, editable=False)
    transport = models.CharField(max_length=8, choices=Transport.choices, blank=True, default=Transport.NONE, editable=False)
    connected_since = models.DateTimeField(null=True, editable=False)
    os = models.CharField(max_length=32, blank=True, default="", editable=False)
    arch = models.CharField(max_length=32, blank=True, default="", editable=False)
    release_channel = models.CharField(max_length=64, blank=True, default="", editable=False)
    checksum = models.CharField(max_length=128, blank=True, default="", editable=False)

    class Meta:
        ordering = ["-registered_at"]
        permissions = [
            ("approve_runner", "Can approve a runner's key"),
            ("revoke_runner", "Can revoke a runner's key"),
            ("retag_runner", "Can change a runner's tags"),
            ("key_runner", "Can give a runner a key for the channel"),
        ]
        constraints = [
            models.CheckConstraint(name="runner_fingerprint_is_hex", condition=Q(fingerprint__regex=r"^[0-9a-f]{64}$")),
            models.CheckConstraint(name="runner_state_known", condition=Q(state__in=RunnerState.values)),
            models.CheckConstraint(
                name="runner_revoked_has_time",
                condition=Q(state=RunnerState.REVOKED, revoked_at__isnull=False)
                | (~Q(state=RunnerState.REVOKED) & Q(revoked_at__isnull=True)),
            ),
        ]
        indexes = [models.Index(name="runner_by_state", fields=["state", "last_seen_at"])]

    def __str__(self) -> str:
        return f"{self.name} ({self.fingerprint[:8]})"

    @property
    def pools(self) -> frozenset[str]:
        """The pools this runner serves: its tags, or `default` when it has none (seed 000)."""
        return frozenset(self.tags) or frozenset({DEFAULT_POOL})


class Nonce(models.Model):
    """A challenge: stored hashed, bound to a fingerprint, spent by deleting its row."""

    digest = models.BinaryField(primary_key=True, max_length=32)
    fingerprint = models.CharField(max_length=64)
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"nonce of {self.fingerprint[:8]}"


class BearerToken(models.Model):
    """Proof of a handshake, stored hashed; several of one runner may live at once."""

    digest = models.BinaryField(primary_key=True, max_length=32)
    runner = models.ForeignKey(Runner, on_delete=models.CASCADE, related_name="bearer_tokens")
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"token of {self.runner_id}"


class ChannelKey(models.Model):
    """A runner's key for the channel, stored hashed (channel-protocol §1).

    `attempts` counts connections since `counted_from`. `line` is the connection that took up a held job last, and
    `line_token` the lease it did so under: an older connection hears of it here.
    """

    runner = models.OneToOneField(Runner, on_delete=models.CASCADE, primary_key=True, related_name="channel_key")
    digest = models.BinaryField(max_length=32, unique=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    attempts = models.PositiveIntegerField(default=0, editable=False)
    counted_from = models.DateTimeField(db_default=Now(), editable=False)
    line = models.UUIDField(null=True, editable=False)
    line_token = models.UUIDField(null=True, editable=False)

    def __str__(self) -> str:
        return f"channel key of {self.runner_id}"
