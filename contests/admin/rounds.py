"""Rounds: parts of activities, with windows and pools of their own where they have any."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.admin import TabularInline
from unfold.decorators import display

from contests import routing
from contests.admin.routed import Pooled, Routed, Settled, ability
from contests.models import Round
from judging import marks
from judging.admin.actions import Said, act
from judging.admin.filters import SeenSelectFilter
from judging.admin.pages import MOMENTS
from judging.models import Lane


class RoundsOf(TabularInline):
    """An activity's rounds; their pools are on each round's own page."""

    model = Round
    fields = ("position", "title", "opens_at", "closes_at")
    extra = 0
    can_delete = False
    show_change_link = True
    formfield_overrides = MOMENTS
    tab = False


@admin.register(Round)
class RoundPages(Settled):
    """Parts of activities."""

    form = Pooled
    list_display: Any = ["name", "opens", "closes", "in_pools"]
    list_filter: Any = [("activity", SeenSelectFilter)]
    list_filter_submit = True
    list_select_related = ["activity"]
    autocomplete_fields = ["activity"]
    search_fields = ("title", "activity__title", "activity__slug")
    organization_path = "activity__organization"
    fields: Any = ["activity", ("position", "title"), "opens_at", "closes_at", ("pools", "runners")]
    settled = ("activity", "pools")
    when_empty = "A round is made on its activity's page, or here."
    actions_detail = ["retag"]

    @display(description="Round")
    def name(self, row: Round) -> SafeString:
        """Its title, and its activity."""
        return format_html('<strong>{}</strong><br><span class="az-faint">{}, part {}</span>', row.title, row.activity.title, row.position)

    @display(description="Opens")
    def opens(self, row: Round) -> SafeString:
        """From when, if not as the activity."""
        return marks.moment(row.opens_at)

    @display(description="Closes")
    def closes(self, row: Round) -> SafeString:
        """Until when, if not as the activity."""
        return marks.moment(row.closes_at)

    @display(description="Pools")
    def in_pools(self, row: Round) -> SafeString:
        """Its own, or those of its activity."""
        inherited = "" if row.pools else format_html(' <span class="az-faint">{}</span>', "as the activity")
        return format_html("{}{}", marks.pools(routing.effective_pools(row)), inherited)

    @display(description="Judged by")
    def runners(self, row: Round) -> SafeString:
        """The runners that may judge the round's assignments."""
        return ability(Lane.objects.filter(assignment__round=row)) if row.pk else marks.NOTHING

    @act(
        "Change pools",
        permission="contests.retag_round",
        text="Runners with one of these tags judge the round, from now on. With none it follows its activity.",
        submit="Change its pools",
        form=Routed,
        icon="sell",
        shared=True,
    )
    def retag(self, request: HttpRequest, row: Round, said: Said) -> str:
        """Give a round other pools."""
        kept = routing.retag_round(row.id, pools=said["tags"])
        return f"{row.title} is judged in {', '.join(kept) or 'the pools of its activity'} now."
