"""Many leases or releases in one call: each item behaves as its single call, and none fails the rest (§2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import HttpResponse
from msgspec import UNSET, UnsetType
from rest_framework.request import Request

from judging import queue
from judging.errors import BatchSize, MalformedRequest, NotFound, Refusal, StorageUnavailable
from judging.protocol import serializers
from judging.protocol.documents import Batch, BatchItem
from judging.protocol.reading import Reading, identifier
from judging.protocol.schema import AUTHENTICATED, described
from judging.protocol.surface import RunnerSurface, caller, document, reading
from judging.records import instant
from judging.text import storable

Act = Callable[[UUID, UUID | None], str | UnsetType]
"""The single call: a job and a lease token to the instant that is answered, if any."""


class Batches(RunnerSurface):
    """The calls of a runner that holds many jobs."""

    @described(
        "renewLeases",
        request=serializers.Renewals,
        answers={200: serializers.BatchAnswer},
        problems=(*AUTHENTICATED, 422),
    )
    def renew(self, request: Request) -> HttpResponse:
        """Renew many leases."""
        asked, runner = reading(request), caller(request).runner.id
        lease, items = asked.number("leaseSeconds"), _items(asked)

        def act(job: UUID, token: UUID | None) -> str:
            return instant(queue.renew(job, token=token, runner=runner, lease_seconds=lease).until)

        return document(Batch(results=list(_answers(items, act))))

    @described(
        "releaseJobs",
        request=serializers.Releases,
        answers={200: serializers.BatchAnswer},
        problems=(*AUTHENTICATED, 422),
    )
    def release(self, request: Request) -> HttpResponse:
        """Hand many jobs back because this runner is stopping."""
        asked, runner = reading(request), caller(request).runner.id
        items = _items(asked)

        def act(job: UUID, token: UUID | None) -> UnsetType:
            queue.release(job, token=token, runner=runner)
            return UNSET

        return document(Batch(results=list(_answers(items, act))))


def _items(asked: Reading) -> list[Any]:
    """The list of jobs, whatever its items are. Raises MalformedRequest, BatchSize."""
    items = asked.values("jobs", required=True)
    asked.finish()
    most = settings.LIMITS.batch_items
    if len(items) > most:
        raise BatchSize(f"A batch call names at most {most} jobs.")
    return items


def _answers(items: list[Any], act: Act) -> Iterator[BatchItem]:
    """One answer for each id, in the order sent; a repeated id is answered once."""
    answered = set()
    for item in items:
        named = item if isinstance(item, dict) else {}
        sent = named.get("jobId")
        name = storable(sent) if isinstance(sent, str) else ""
        if name.lower() not in answered:
            answered.add(name.lower())
            yield _answer(name, named.get("leaseToken"), act)


def _answer(name: str, token: object, act: Act) -> BatchItem:
    job = identifier(name)
    try:
        if not name or not isinstance(token, str):
            raise MalformedRequest
        if job is None:
            raise NotFound
        return BatchItem(job_id=name, lease_expires_at=act(job, identifier(token)))
    except StorageUnavailable:
        # The database is gone for the others too; what was done may be asked again.
        raise
    except Refusal as refusal:
        return BatchItem(job_id=name, code=refusal.code)
