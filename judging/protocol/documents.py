"""What runners are answered, as values that msgspec renders. Members without a value are left out, never null.

Ids are lowercase hyphenated UUIDs, instants have exactly six fractional digits and a Z (runner-protocol §1).
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from msgspec import UNSET, Raw, Struct, UnsetType

from judging.queue import ClaimedJob, Lease, Reported
from judging.records import instant


class Document(Struct, rename="camel", frozen=True, kw_only=True):
    """A JSON object with camelCase members."""


class Claimed(Document, frozen=True, kw_only=True):
    """A job handed out (seed 000, "What a claimed job carries"). The three opaque documents are as they were stored."""

    job_id: UUID
    submission_id: UUID
    attempt: int
    lease_token: UUID
    lease_expires_at: str
    problem_type: str
    problem_version_id: UUID
    package_file_id: str
    package_sha256: str
    files: tuple[dict[str, Any], ...]
    props: Raw | UnsetType = UNSET
    problem_version_props: Raw | UnsetType = UNSET
    config: Raw | UnsetType = UNSET
    outside_id: str | UnsetType = UNSET


class Renewed(Document, frozen=True, kw_only=True):
    """A lease after its renewal."""

    job_id: UUID
    lease_token: UUID
    lease_expires_at: str


class BatchItem(Document, frozen=True, kw_only=True):
    """What a batch call did for one job: a `code` when it was refused. `job_id` is as it was sent."""

    job_id: str
    lease_expires_at: str | UnsetType = UNSET
    code: str | UnsetType = UNSET


class Batch(Document, frozen=True, kw_only=True):
    """What a batch call did, job by job, in the order they were sent."""

    results: list[BatchItem]


class Taken(Document, frozen=True, kw_only=True):
    """A report that was taken; no result when the job went back to the queue."""

    result_id: UUID | UnsetType = UNSET
    state: str
    duplicate: bool


class Registered(Document, frozen=True, kw_only=True):
    """A runner's row after its registration."""

    runner_id: UUID
    fingerprint: str
    state: str


class Challenge(Document, frozen=True, kw_only=True):
    """A nonce to sign."""

    nonce: str
    expires_at: str


class Token(Document, frozen=True, kw_only=True):
    """A bearer token."""

    token: str
    expires_at: str


class UploadedFile(Document, frozen=True, kw_only=True):
    """An upload that was kept."""

    id: UUID
    name: str
    mime_type: str
    size_bytes: int
    sha256: str
    created_at: str


class MaintenanceNotice(Document, frozen=True, kw_only=True):
    """Why the doors are not open, and since when."""

    level: str
    since: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET


class Health(Document, frozen=True, kw_only=True):
    """How the server is."""

    status: str = "ok"
    storage: str
    maintenance: MaintenanceNotice | UnsetType = UNSET


def claimed(job: ClaimedJob) -> Claimed:
    """The document of a job that was just handed out."""
    row = job.row
    assert row.token is not None
    assert row.lease_until is not None
    return Claimed(
        job_id=row.id,
        submission_id=row.submission,
        attempt=row.attempt,
        lease_token=row.token,
        lease_expires_at=instant(row.lease_until),
        problem_type=job.problem_type,
        problem_version_id=row.version,
        package_file_id=str(job.package) if job.package else "",
        package_sha256=job.package_sha256,
        files=job.files,
        props=verbatim(job.props),
        problem_version_props=verbatim(job.version_props),
        config=verbatim(job.config),
        outside_id=row.outside_id or UNSET,
    )


def verbatim(stored: str) -> Raw | UnsetType:
    """A stored opaque document, or nothing when there is none."""
    return Raw(stored.encode()) if stored else UNSET


def renewed(lease: Lease) -> Renewed:
    """The document of a lease."""
    return Renewed(job_id=lease.job, lease_token=lease.token, lease_expires_at=instant(lease.until))


def taken(report: Reported) -> Taken:
    """The document of a report."""
    return Taken(result_id=report.result or UNSET, state=str(report.state), duplicate=report.duplicate)
