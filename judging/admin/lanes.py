"""Lanes: where work waits, who could judge it, and holding one back."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Count, Min, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.contrib.filters.admin import BooleanRadioFilter
from unfold.decorators import display
from unfold.enums import ActionVariant
from unfold.views import ChangeList

from judging import marks, overview, queue
from judging.admin.actions import Said, act
from judging.admin.filters import SeenSelectFilter
from judging.admin.opaque import document
from judging.admin.pages import FoundById
from judging.models import Job, Lane, Thread
from judging.states import JobState
from judging.waiting import Need, strength
from runners.clock import Clock


def need_of(lane: Lane) -> Need:
    """What a lane's work asks of a runner."""
    return Need(lane.problem_type, lane.external, frozenset(lane.pools))


class LaneList(ChangeList):
    """A page of lanes, each with the runners that may judge it."""

    result_list: Any

    def get_results(self, request: HttpRequest) -> None:
        """The page's rows; the fleet is asked once for all."""
        super().get_results(request)
        rows = list(self.result_list)
        fleet = overview.squads()
        for row in rows:
            row.able = strength(need_of(row), fleet)
        self.result_list = rows


def _running(lane: Lane) -> bool:
    return lane.paused_at is None


def _paused(lane: Lane) -> bool:
    return lane.paused_at is not None


@admin.register(Lane)
class LanePages(FoundById):
    """Every stream of work, those where something waits first."""

    change_form_template = "operators/lane.html"
    list_display: Any = ["name", "waiting", "oldest", "in_pools", "able"]
    list_filter: Any = [("active", BooleanRadioFilter), ("problem", SeenSelectFilter)]
    list_filter_submit = True
    ordering = ["-active", "-id"]
    search_help_text = "The id of a lane, or how it begins"
    when_empty = "A lane is made for each assignment of a round. Assign a problem to a round to begin."
    actions_detail = ["pause", "resume"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Lane]:
        """Lanes with how much waits in each."""
        waits = Thread.objects.filter(lane=OuterRef("id"), claimable=True).order_by().values("lane")
        found = super().get_queryset(request).select_related("problem")
        told: QuerySet[Lane] = found.annotate(
            now=Clock(),
            depth=Coalesce(Subquery(waits.annotate(n=Count("*")).values("n")), 0),
            oldest_at=Subquery(waits.annotate(at=Min("head_created_at")).values("at")),
        )
        return told

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """Ours, which asks for the fleet."""
        return LaneList

    @display(description="Lane")
    def name(self, lane: Any) -> SafeString:
        """The problem and its type."""
        paused = marks.badge("paused", "warn") if _paused(lane) else ""
        return format_html("<strong>{}</strong> {}<br>{}", lane.problem.slug, paused, marks.code(lane.problem_type))

    @display(description="Waiting")
    def waiting(self, lane: Any) -> str:
        """How much may be claimed."""
        return str(lane.depth)

    @display(description="Oldest waits")
    def oldest(self, lane: Any) -> str:
        """For how long."""
        return marks.span(lane.oldest_at, lane.now) or "nothing waits"

    @display(description="Pools")
    def in_pools(self, lane: Lane) -> SafeString:
        """The effective ones."""
        return marks.pools(lane.pools)

    @display(description="Runners")
    def able(self, lane: Any) -> SafeString:
        """How many may judge it, and are connected and free."""
        tone = "bad" if lane.depth and not lane.able.connected else "off" if not lane.able.approved else "good"
        words = f"{lane.able.approved} approved, {lane.able.connected} connected, {lane.able.idle} idle"
        return marks.badge(words, tone)

    def shown(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """One lane: how much waits, who may judge it, what its oldest jobs wait for."""
        waiting = Job.objects.filter(lane=row, state=JobState.QUEUED).select_related("lane__problem", "thread")
        jobs = list(waiting.annotate(now=Clock()).order_by("priority", "created_at")[:50])
        why = overview.why(jobs)
        return {
            "title": f"Lane of {row.problem.slug}",
            "lane": row,
            "need": need_of(row),
            "able": strength(need_of(row), overview.squads()),
            "config": document(row.config),
            "waiting": [(job, why[job.id]) for job in jobs],
        }

    @act(
        "Pause",
        permission="judging.pause_lane",
        text="Nothing more of this lane is handed out until it is resumed. What runners hold goes on.",
        submit="Pause the lane",
        icon="pause",
        variant=ActionVariant.WARNING,
        fits=_running,
    )
    def pause(self, request: HttpRequest, row: Lane, said: Said) -> str:
        """Hold a lane's work back."""
        queue.pause(row.id, reason=said["reason"])
        return "The lane is paused."

    @act(
        "Resume",
        permission="judging.pause_lane",
        text="The lane's work is handed out again, in its old order.",
        submit="Resume the lane",
        icon="play_arrow",
        variant=ActionVariant.PRIMARY,
        fits=_paused,
    )
    def resume(self, request: HttpRequest, row: Lane, said: Said) -> str:
        """Let a lane's work go on."""
        queue.resume(row.id)
        return "The lane goes on."
