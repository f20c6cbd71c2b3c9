"""What the page of one submission shows: its attempts, its files as text, and the documents that travel with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from judging.admin.content import Shown, shown
from judging.admin.details import ROLE, Details, details_of
from judging.admin.opaque import Document, document
from judging.models import Attachment, Job, Submission
from judging.rejudging.counting import set_aside

MOST_TABLES = 3


def told(row: Submission, *, readable: bool) -> dict[str, Any]:
    """One submission for its template; contents only where they are `readable` for who asks."""
    jobs = list(row.jobs.select_related("result__runner", "runner").annotate(aside=set_aside()).order_by("-attempt")[:100])
    files = list(row.files.select_related("file").order_by("position"))
    attachments = _attachments(row)
    return {
        "title": f"Submission to {row.lane.problem.slug}",
        "submission": row,
        "jobs": jobs,
        "sources": [(item, shown(item.file) if readable else None) for item in files],
        "readable": readable,
        "props": document(row.props),
        "config": document(row.lane.config),
        "attachments": attachments,
        "tables": _tables(attachments) if readable else [],
        "result_documents": _documents(jobs) if readable else [],
    }


def _attachments(row: Submission) -> list[Attachment]:
    left = Attachment.objects.filter(delivery__job__submission=row).select_related("file", "delivery__job", "delivery__runner")
    return list(left.order_by("-delivery__claimed_at", "name")[:100])


def _tables(attachments: list[Attachment]) -> list[tuple[str, Details | None, Shown | None]]:
    """The newest deliveries' details: a table, or the text where it is none."""
    told = [(each, details_of(each.file)) for each in attachments if each.name == ROLE][:MOST_TABLES]
    return [(f"Tests of attempt {each.delivery.job.attempt}", table, None if table else shown(each.file)) for each, table in told]


def _documents(jobs: Sequence[Job]) -> list[tuple[str, Document | None, Document | None]]:
    """What the results carry besides a verdict: for everybody (`extra`) and for the participant (`props`)."""
    results = [(job, getattr(job, "result", None)) for job in jobs]
    return [
        (f"Attempt {job.attempt}", document(result.extra), document(result.props))
        for job, result in results
        if result and (result.extra or result.props)
    ]
