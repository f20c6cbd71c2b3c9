"""exclude, include: whether a submission counts. It is judged, shown and rejudged either way, and no job is touched."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Func

from judging.durable import one_transaction
from judging.errors import NotFound, Refusal
from judging.models import Submission
from judging.text import storable


class ExclusionUnchanged(Refusal):
    """This submission is so already."""

    code = "submission.exclusion.unchanged"


def exclude(submission: UUID, *, reason: str) -> None:
    """Take a submission out of the count. Raises NotFound for an unknown or withdrawn one, ExclusionUnchanged."""
    with one_transaction():
        counted = Submission.objects.filter(id=submission, deleted_at=None, excluded_at=None)
        if not counted.update(excluded_at=Func(function="judge_now"), excluded_reason=storable(reason)):
            raise _unchanged(submission, "This submission is excluded already.")


def include(submission: UUID) -> None:
    """Count an excluded submission again. Raises NotFound for an unknown or withdrawn one, ExclusionUnchanged."""
    with one_transaction():
        excluded = Submission.objects.filter(id=submission, deleted_at=None, excluded_at__isnull=False)
        if not excluded.update(excluded_at=None, excluded_reason=""):
            raise _unchanged(submission, "This submission counts already.")


def _unchanged(submission: UUID, words: str) -> Refusal:
    there = Submission.objects.filter(id=submission, deleted_at=None).exists()
    return ExclusionUnchanged(words) if there else NotFound()
