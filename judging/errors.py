"""Every refusal: its stable code, its status and its sentence (runner-protocol §2).

Those about runners are `runners.errors`'; a door imports all of them from here. One list, however long: whoever writes a
client reads it whole.
"""

from __future__ import annotations

from http import HTTPStatus

from runners.errors import (
    KeyLength,
    KeyMalformed,
    MalformedRequest,
    NonceExpired,
    NonceMismatch,
    NonceUnknown,
    NotFound,
    Refusal,
    RunnerNotApproved,
    RunnerNotRevoked,
    RunnerRevoked,
    SignatureWrong,
    TagsCount,
    TagsLength,
    Unauthenticated,
    Unprocessable,
)

__all__ = [
    "AttemptFileDuplicate",
    "BatchSize",
    "ChecksumMismatch",
    "FileMissing",
    "FileRequired",
    "FileTooMany",
    "JobAdmitted",
    "JobStateWrong",
    "KeyLength",
    "KeyMalformed",
    "KeyReused",
    "LeaseForeign",
    "LeaseMalformed",
    "LeaseStale",
    "MalformedJson",
    "MalformedRequest",
    "NonceExpired",
    "NonceMismatch",
    "NonceUnknown",
    "NotAllowed",
    "NotFound",
    "NotMultipart",
    "NotStarted",
    "OpaqueNotAnObject",
    "OpaqueNotJson",
    "OpaqueTooLarge",
    "PayloadTooLarge",
    "RateLimited",
    "Refusal",
    "RequestMalformed",
    "RunnerNotApproved",
    "RunnerNotRevoked",
    "RunnerRevoked",
    "ServerMaintenance",
    "SignatureWrong",
    "StorageBusy",
    "StorageUnavailable",
    "SubmissionBusy",
    "SubmissionLimit",
    "TagsCount",
    "TagsLength",
    "Unauthenticated",
    "Unprocessable",
    "VerdictMissing",
    "VerdictTooLong",
]


class NotAllowed(Refusal):
    """This account may not do that."""

    code = "forbidden"
    status = HTTPStatus.FORBIDDEN


class MalformedJson(Refusal):
    """The body is not JSON."""

    code = "malformed_json"
    status = HTTPStatus.BAD_REQUEST


class PayloadTooLarge(Refusal):
    """The body is larger than this endpoint takes."""

    code = "payload_too_large"
    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE


class LeaseStale(Refusal):
    """This lease is not held any more: the job was taken back, cancelled, or its result is in already."""

    code = "runner.lease.stale"
    status = HTTPStatus.FORBIDDEN


class LeaseForeign(Refusal):
    """This lease belongs to another runner."""

    code = "runner.lease.foreign"
    status = HTTPStatus.FORBIDDEN


class LeaseMalformed(Unprocessable):
    """The lease token cannot be a token; the report was not taken."""

    code = "runner.lease.malformed"


class JobStateWrong(Refusal):
    """The job is not in a state that allows this."""

    code = "job.state"


class NotStarted(Refusal):
    """The run is said to be complete, and was never said to be running."""

    code = "channel.notStarted"


class BatchSize(Unprocessable):
    """A batch call names too many jobs."""

    code = "runner.batch.size"


class VerdictMissing(Unprocessable):
    """A judged result needs a verdict that is not blank."""

    code = "result.verdict.missing"


class VerdictTooLong(Unprocessable):
    """The verdict is too long."""

    code = "result.verdict.tooLong"


class OpaqueTooLarge(Unprocessable):
    """The document is larger than allowed, measured as compact UTF-8 JSON."""

    code = "opaque.tooLarge"


class OpaqueNotJson(Unprocessable):
    """The document is not JSON."""

    code = "opaque.notJson"


class OpaqueNotAnObject(Unprocessable):
    """The document is not a JSON object."""

    code = "opaque.notAnObject"


class JobAdmitted(Refusal):
    """This job was handed to an outside judge under another id; resume that one."""

    code = "job.admitted"


class AttemptFileDuplicate(Refusal):
    """This delivery already has a file of that name."""

    code = "attempt.file.duplicate"


class FileMissing(Unprocessable):
    """There is no unattached upload of this runner under that id."""

    code = "file.missing"


class FileRequired(Unprocessable):
    """A file that is not empty is required."""

    code = "file.required"


class FileTooMany(Unprocessable):
    """Only one file may be sent."""

    code = "file.tooMany"


class NotMultipart(Unprocessable):
    """The body must be multipart/form-data."""

    code = "request.notMultipart"


class RequestMalformed(Unprocessable):
    """The multipart body cannot be read."""

    code = "request.malformed"


class ChecksumMismatch(Unprocessable):
    """The bytes do not have the SHA-256 that was named; nothing was kept."""

    code = "checksum_mismatch"


class KeyReused(Refusal):
    """This idempotency key was used for something else."""

    code = "submission.key.reused"


class SubmissionBusy(Refusal):
    """Something is already being judged here."""

    code = "submission.busy"


class SubmissionLimit(Refusal):
    """You have sent as many submissions here as are allowed."""

    code = "submission.limit"


class ServerMaintenance(Refusal):
    """The server is in maintenance; try again later."""

    code = "server.maintenance"
    status = HTTPStatus.SERVICE_UNAVAILABLE
    retry_after = 30


class StorageUnavailable(Refusal):
    """The file storage or the database does not answer; nothing was changed, try again."""

    code = "storage.unavailable"
    status = HTTPStatus.SERVICE_UNAVAILABLE
    retry_after = 30


class StorageBusy(Refusal):
    """The row is being worked on for too long; nothing was changed, try again."""

    code = "storage.busy"
    status = HTTPStatus.SERVICE_UNAVAILABLE
    retry_after = 1


class RateLimited(Refusal):
    """Too many requests; slow down."""

    code = "rate.limited"
    status = HTTPStatus.TOO_MANY_REQUESTS
    retry_after = 30
