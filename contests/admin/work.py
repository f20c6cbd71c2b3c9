"""Judging's pages with the words of contests on them: activities, rounds and participants.

Judging does not know contests, so its pages are put on the site again here, grown by what it cannot say.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.contrib.filters.admin import TextFilter
from unfold.decorators import display

from contests.models import Assignment, Participant
from judging.admin.filters import SeenSelectFilter
from judging.admin.jobs import JobPages
from judging.admin.lanes import LanePages
from judging.admin.rejudgings import RejudgingPages
from judging.admin.submissions import SubmissionPages
from judging.models import Job, Lane, Rejudging, Submission

ACTIVITY = "assignment__round__activity"
MOST_NAMED = 300

for model in (Job, Submission, Lane, Rejudging):
    admin.site.unregister(model)


def author(path: str) -> Subquery:
    """The name of the participant whose id is under this path."""
    return Subquery(Participant.objects.filter(id=OuterRef(path)).order_by().values("name")[:1])


@admin.register(Job)
class ContestJobPages(JobPages):
    """Jobs by activity, with who sent them."""

    list_display = ["name", "now", "from_whom", "pools", "hand_outs", "since"]
    list_filter = [*JobPages.list_filter, (f"lane__{ACTIVITY}", SeenSelectFilter)]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Job]:
        """Jobs with the name of their author."""
        found = super().get_queryset(request).select_related(f"lane__{ACTIVITY}", "submission")
        return found.annotate(author_name=author("submission__author"))

    @display(description="From")
    def from_whom(self, row: Any) -> SafeString:
        """The participant, and where."""
        return _from(row, row.lane)


class ByParticipant(TextFilter):
    """Submissions of those whose name, or login name, has this in it."""

    title = "participant"
    parameter_name = "participant"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """By the ids of the participants, looked up first: for a few of them the database then asks an index.

        A word that many have, such as a school's name, is left to the query.
        """
        word = self.value()
        if not word:
            return queryset
        people = Participant.objects.filter(Q(name__icontains=word) | Q(user__username__icontains=word)).values_list("id", flat=True)
        found = list(people[: MOST_NAMED + 1])
        return queryset.filter(author__in=found if len(found) <= MOST_NAMED else people)


@admin.register(Submission)
class ContestSubmissionPages(SubmissionPages):
    """Submissions by activity, round and participant."""

    list_display = ["name", "from_whom", "attempt", "sent"]
    list_filter = [
        *SubmissionPages.list_filter,
        (f"lane__{ACTIVITY}", SeenSelectFilter),
        ("lane__assignment__round", SeenSelectFilter),
        ByParticipant,
    ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Submission]:
        """Submissions with the name of their author."""
        return super().get_queryset(request).select_related(f"lane__{ACTIVITY}").annotate(author_name=author("author"))

    @display(description="From")
    def from_whom(self, row: Any) -> SafeString:
        """The participant, and where."""
        return _from(row, row.lane)


@admin.register(Lane)
class ContestLanePages(LanePages):
    """Lanes by activity."""

    organization_path = f"{ACTIVITY}__organization"

    list_filter = [*LanePages.list_filter, (ACTIVITY, SeenSelectFilter)]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Lane]:
        """Lanes with their assignment."""
        return super().get_queryset(request).select_related(ACTIVITY)

    @display(description="Lane")
    def name(self, lane: Any) -> SafeString:
        """The assignment and its activity, over what every lane shows."""
        assignment = getattr(lane, "assignment", None)
        place = (
            format_html('<span class="az-faint">{}: {}</span><br>', assignment.round.activity.title, assignment.slug) if assignment else ""
        )
        return format_html("{}{}", place, super().name(lane))


@admin.register(Rejudging)
class ContestRejudgingPages(RejudgingPages):
    """Rejudgings with the names of those whose verdicts change."""

    def names(self, authors: list[UUID | None]) -> dict[UUID | None, str]:
        """Participants by their ids."""
        known = Participant.objects.filter(id__in=[author for author in authors if author])
        return dict(known.values_list("id", "name"))

    def places(self, lanes: list[UUID]) -> dict[UUID, str]:
        """The assignments whose lanes they are."""
        found = Assignment.objects.filter(lane__in=lanes).select_related("round__activity")
        return {each.lane_id: f"{each.round.activity.title}: {each.slug}" for each in found}


def _from(row: Any, lane: Any) -> SafeString:
    assignment = getattr(lane, "assignment", None)
    place = f"{assignment.round.activity.slug} / {assignment.slug}" if assignment else ""
    return format_html('{}<br><span class="az-faint">{}</span>', row.author_name or "the jury", place)
