"""By what submissions are filtered: the newest attempt at each, who judged it, whether it counts, what its client said."""

from __future__ import annotations

from typing import Any

from django.db.models import Exists, OuterRef, QuerySet, Subquery
from django.http import HttpRequest
from unfold.contrib.filters.admin import DropdownFilter, FieldTextFilter

from judging.admin.filters import SeenSelectFilter
from judging.admin.timeline import is_uuid
from judging.models import Delivery, Job, Result
from judging.rejudging.counting import set_aside
from judging.states import OPEN, JobState

FEW = 2000
LAST = {"state": "state", "verdict": "result__verdict", "last_attempt": "attempt", "voided_at": "voided_at", "last_job": "id"}
"""What a row shows of its newest attempt, by the name it is annotated under."""


def newest() -> QuerySet[Job]:
    """The newest attempt at the submission of the outer query, those not counted whose results are kept aside."""
    return Job.objects.filter(~set_aside(), submission=OuterRef("id")).order_by("-attempt")


def with_newest(submissions: QuerySet[Any]) -> QuerySet[Any]:
    """These with what the list shows of the newest attempt at each."""
    told: QuerySet[Any] = submissions.annotate(**{name: Subquery(newest().values(path)[:1]) for name, path in LAST.items()})
    return told


class StateOfNewest(DropdownFilter):
    """By the state of the newest attempt."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Every state a job may be in."""
        return [(state.value, state.value) for state in JobState]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Asked inside the query, so that an older attempt's state never counts.

        What few are in is looked up first: where there are none, every submission would be asked for its newest attempt.
        What many are in is soon met, from the newest job in that state backwards.
        """
        state = self.value()
        if not state:
            return queryset
        return _near(queryset, state).filter(state=state)


def _near(submissions: QuerySet[Any], state: str) -> QuerySet[Any]:
    """At least those of which some attempt is in this state."""
    if state == JobState.COMPLETED:
        return submissions
    jobs = Job.objects.filter(state=state)
    # What is open has no index by age; it is few, or soon met.
    ordered = jobs.order_by() if state in OPEN else jobs.order_by("-created_at")
    seen = list(ordered.values_list("submission", "created_at")[: FEW + 1])
    if len(seen) <= FEW:
        return submissions.filter(id__in={id_ for id_, _ in seen})
    return submissions if state in OPEN else submissions.filter(created_at__lte=seen[0][1])


class VerdictOfNewest(DropdownFilter):
    """By the verdict of the newest attempt; the words are those that runners use."""

    title = "verdict"
    parameter_name = "verdict"
    most_words = 30

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """The verdicts lately met."""
        organization = model_admin.organization(request)
        seen = Job.objects.filter(finished_at__isnull=False, **({"thread__organization": organization} if organization else {}))
        lately = seen.order_by("-finished_at").values_list("result__verdict", flat=True)[:1000]
        return [(word, word) for word in sorted({word for word in lately if word})[: self.most_words]]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Asked inside the query; a word that is rare, or that no runner ever used, is looked up first."""
        word = self.value()
        if not word:
            return queryset
        return queryset.filter(id__in=Result.objects.filter(verdict=word).values("submission"), verdict=word)


class JudgedBy(SeenSelectFilter):
    """Submissions of which a runner holds or has held an attempt."""

    path = "job__submission"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """By the deliveries, so that finished ones and those without a result are found too.

        A machine's few are looked up first: behind those of all the others they may never come. Of a machine with many
        the newest are soon found, from its own last hand-out backwards.
        """
        runner = self.value()
        if not runner:
            return queryset
        if not is_uuid(runner):
            return queryset.none()
        lately = list(Delivery.objects.filter(runner=runner).order_by("-claimed_at").values_list(self.path, "claimed_at")[: FEW + 1])
        if len(lately) <= FEW:
            return queryset.filter(id__in={id_ for id_, _ in lately})
        held = Exists(Delivery.objects.filter(**{self.path: OuterRef("id")}, runner=runner))
        return queryset.filter(held, created_at__lte=lately[0][1])


class HeldBy(JudgedBy):
    """Jobs that a runner holds or has held."""

    path = "job"


class Counted(DropdownFilter):
    """Whether it counts."""

    title = "counts"
    parameter_name = "counts"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """What there is besides those that count."""
        return [("excluded", "excluded"), ("withdrawn", "withdrawn"), ("yes", "yes")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """By the marks on the submission."""
        chosen: dict[str, dict[str, Any]] = {
            "excluded": {"excluded_at__isnull": False},
            "withdrawn": {"deleted_at__isnull": False},
            "yes": {"excluded_at": None, "deleted_at": None},
        }
        return queryset.filter(**chosen.get(str(self.value()), {}))


class LanguageWord(FieldTextFilter):
    """By a word in what the author's client said of it; the server does not read that document, it compares text."""

    title = "word in props"
