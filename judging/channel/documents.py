"""The job frame: what a job is told with on the channel (channel-protocol §2)."""

from __future__ import annotations

from uuid import UUID

import msgspec

from judging.channel import frames, tokens
from judging.channel.oci import package_of
from judging.channel.packages import digest_of, manifest
from judging.models import Lane, ProblemVersion
from judging.protocol import documents
from judging.queue import ClaimedJob
from judging.records import instant
from runners.models import Pool, Runner


def job_frame(job: ClaimedJob, *, registry: str) -> frames.Job:
    """The frame of a job that was just handed out; `registry` is the URL this server is reached by."""
    row = job.row
    assert row.runner is not None
    version = ProblemVersion.objects.select_related("package").get(id=row.version)
    config = frames.Config(
        registry=registry,
        project=version.problem_id,
        digest=digest_of(manifest(package_of(version))),
        timeout=row.timeout,
    )
    return frames.Job(
        uuid=row.id,
        timeout=row.timeout,
        created=instant(row.created_at),
        spec=spec_of(_matched(row.lane, row.runner)),
        config=config,
        oci_token=tokens.mint(row, problem=version.problem_id),
        claim=msgspec.Raw(msgspec.json.encode(documents.claimed(job))),
    )


def _matched(lane: UUID, runner: UUID) -> Pool:
    """The pool in which a job met its runner: the first by name that both have."""
    wanted = Lane.objects.values_list("pools", flat=True).get(id=lane)
    served = Runner.objects.get(id=runner).pools
    name = min(set(wanted) & served, default=min(wanted))
    return Pool.objects.get_or_create(name=name)[0]


def spec_of(pool: Pool) -> frames.Spec:
    """A pool's declared hardware. Clients refuse nulls, so what is not declared has a plain value."""
    made = instant(pool.created_at)
    return frames.Spec(
        uuid=pool.uuid,
        name=pool.name,
        slug=pool.name,
        os=pool.os,
        architecture=pool.architecture,
        sandbox=pool.sandbox,
        cpu=pool.cpu,
        memory=pool.memory_bytes,
        disk=pool.disk_bytes,
        network=pool.network,
        created=made,
        modified=made,
    )
