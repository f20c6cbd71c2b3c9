"""The documents of the runner surface, declared for the OpenAPI schema (runner-protocol §2).

Requests are read by `reading` and answers rendered by `documents`, three times as fast; a test holds them to this.
"""

from __future__ import annotations

from rest_framework import serializers

HEX64 = r"^[0-9a-f]{64}$"


class Problem(serializers.Serializer[object]):
    """An error (RFC 9457). Clients switch on `code`."""

    status = serializers.IntegerField()
    title = serializers.CharField()
    detail = serializers.CharField()
    code = serializers.CharField()
    errors = serializers.DictField(child=serializers.ListField(child=serializers.CharField()), required=False)  # type: ignore[assignment]


class Registration(serializers.Serializer[object]):
    """A machine introduces itself; a known key must sign a challenge."""

    name = serializers.CharField(min_length=1, max_length=128)
    product = serializers.CharField(max_length=128, required=False, allow_blank=True, allow_null=True)
    version = serializers.CharField(max_length=64, required=False, allow_blank=True, allow_null=True)
    publicKey = serializers.CharField(help_text="Base64 of the raw 32-byte Ed25519 key.", allow_blank=True)
    problemTypes = serializers.ListField(child=serializers.CharField(max_length=128, allow_blank=True), max_length=256)
    external = serializers.BooleanField(required=False, allow_null=True)
    tags = serializers.ListField(child=serializers.CharField(allow_blank=True), required=False, allow_null=True)
    machine = serializers.DictField(required=False, allow_null=True, help_text="At most 16 kB; shown to operators, never read.")
    nonce = serializers.CharField(required=False, allow_blank=True, allow_null=True)
    signature = serializers.CharField(required=False, allow_blank=True, allow_null=True, help_text="Base64.")


class Registered(serializers.Serializer[object]):
    """A runner's row after its registration."""

    runnerId = serializers.UUIDField()
    fingerprint = serializers.RegexField(HEX64)
    state = serializers.ChoiceField(["pendingApproval", "approved", "revoked"])


class Fingerprint(serializers.Serializer[object]):
    """Whose key is to sign."""

    fingerprint = serializers.CharField(allow_blank=True)


class Challenge(serializers.Serializer[object]):
    """Something to sign, once, within two minutes."""

    nonce = serializers.CharField()
    expiresAt = serializers.DateTimeField()


class SignedNonce(serializers.Serializer[object]):
    """A signed challenge."""

    fingerprint = serializers.CharField(allow_blank=True)
    nonce = serializers.CharField(allow_blank=True)
    signature = serializers.CharField(allow_blank=True, help_text="Base64 Ed25519 over the UTF-8 bytes of the nonce.")


class Token(serializers.Serializer[object]):
    """A bearer token."""

    token = serializers.CharField()
    expiresAt = serializers.DateTimeField()


class Claim(serializers.Serializer[object]):
    """How long a lease, and how long to wait for work. Odd numbers are clamped, never refused."""

    leaseSeconds = serializers.FloatField(required=False, allow_null=True)
    waitSeconds = serializers.FloatField(required=False, allow_null=True)


class ClaimedFile(serializers.Serializer[object]):
    """One file of a submission under its role."""

    name = serializers.CharField()
    fileName = serializers.CharField()
    fileId = serializers.UUIDField()
    sha256 = serializers.RegexField(HEX64)
    sizeBytes = serializers.IntegerField()


class ClaimedJob(serializers.Serializer[object]):
    """A job handed out (seed 000). The package's two members are empty when there is no package."""

    jobId = serializers.UUIDField()
    submissionId = serializers.UUIDField()
    attempt = serializers.IntegerField(min_value=1)
    leaseToken = serializers.UUIDField()
    leaseExpiresAt = serializers.DateTimeField()
    problemType = serializers.CharField()
    problemVersionId = serializers.UUIDField()
    packageFileId = serializers.CharField(allow_blank=True)
    packageSha256 = serializers.CharField(allow_blank=True)
    files = ClaimedFile(many=True)
    props = serializers.DictField(required=False)
    problemVersionProps = serializers.DictField(required=False)
    config = serializers.DictField(required=False)
    outsideId = serializers.CharField(required=False, help_text="Forwarded already, under this id: resume, do not submit again.")


class HeldLease(serializers.Serializer[object]):
    """The lease a runner believes it holds."""

    leaseToken = serializers.CharField(allow_blank=True)


class Progress(HeldLease):
    """Still working; a runner that forwards the work says once under which id (queue.md §4)."""

    outsideId = serializers.CharField(required=False, allow_blank=True, allow_null=True, max_length=200)


class Renewal(HeldLease):
    """How long a held lease is to last from now; without a length, as long as it was granted."""

    leaseSeconds = serializers.FloatField(required=False, allow_null=True)


class Lease(serializers.Serializer[object]):
    """A lease after its renewal."""

    jobId = serializers.UUIDField()
    leaseToken = serializers.UUIDField()
    leaseExpiresAt = serializers.DateTimeField()


class Report(HeldLease):
    """A result, or an infrastructure failure. A judged result needs a verdict."""

    infrastructureFailure = serializers.BooleanField(required=False, allow_null=True)
    failureReason = serializers.CharField(required=False, allow_blank=True, allow_null=True)
    score = serializers.FloatField(required=False, allow_null=True)
    maxScore = serializers.FloatField(required=False, allow_null=True)
    verdict = serializers.CharField(required=False, allow_blank=True, allow_null=True)
    runnerVersion = serializers.CharField(max_length=64, required=False, allow_blank=True, allow_null=True)
    extra = serializers.JSONField(required=False, help_text="An object of at most 2 KiB, public on boards.")
    props = serializers.JSONField(required=False, help_text="An object of at most 256 KiB, for this participant.")
    files = serializers.ListField(required=False, allow_null=True, help_text="{name, fileId}; none can fail the report.")


class Reported(serializers.Serializer[object]):
    """A report that was taken; no result when the job went back to the queue."""

    resultId = serializers.UUIDField(required=False)
    state = serializers.ChoiceField(["queued", "completed", "failed", "cancelled", "superseded"])
    duplicate = serializers.BooleanField()


class Releases(serializers.Serializer[object]):
    """Many held jobs, {jobId, leaseToken} each; a bad item never fails the rest."""

    jobs = serializers.ListField(max_length=512)


class Renewals(Releases):
    """Many held jobs and how long their leases are to last."""

    leaseSeconds = serializers.FloatField(required=False, allow_null=True)


class BatchItem(serializers.Serializer[object]):
    """What was done for one job; `code` when it was refused."""

    jobId = serializers.CharField(allow_blank=True)
    leaseExpiresAt = serializers.DateTimeField(required=False)
    code = serializers.CharField(required=False)


class BatchAnswer(serializers.Serializer[object]):
    """What was done, job by job."""

    results = BatchItem(many=True)


class Upload(serializers.Serializer[object]):
    """One file and its SHA-256, in either order."""

    file = serializers.FileField()
    sha256 = serializers.CharField(help_text="64 hexadecimal digits.")


class StoredFile(serializers.Serializer[object]):
    """An upload that was kept."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    mimeType = serializers.CharField()
    sizeBytes = serializers.IntegerField()
    sha256 = serializers.RegexField(HEX64)
    createdAt = serializers.DateTimeField()


class RunnerAttachment(serializers.Serializer[object]):
    """An upload and the role it gets."""

    fileId = serializers.CharField(allow_blank=True)
    name = serializers.CharField(max_length=128)


class JobAttachment(RunnerAttachment):
    """An upload and the role it gets on the delivery."""

    leaseToken = serializers.CharField(allow_blank=True)


class MaintenanceNotice(serializers.Serializer[object]):
    """Why the doors are not open, and since when."""

    level = serializers.ChoiceField(["draining", "closed"])
    since = serializers.DateTimeField(required=False)
    reason = serializers.CharField(required=False)


class Health(serializers.Serializer[object]):
    """How the server is."""

    status = serializers.ChoiceField(["ok"])
    storage = serializers.ChoiceField(["ok", "unavailable"])
    maintenance = MaintenanceNotice(required=False)
