"""Pools: which machines serve each, what is judged there, and giving one another name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from unfold.decorators import display
from unfold.views import ChangeList
from unfold.widgets import UnfoldAdminTextInputWidget

from contests import rooms
from contests.models import Activity, Reservation, Round
from judging import marks
from judging.admin.actions import Reason, Said, act
from judging.admin.pages import Page
from runners.models import DEFAULT_POOL, Pool, Runner, RunnerState

MOST_NAMED = 30


class PoolList(ChangeList):
    """A page of pools, each with what uses it."""

    result_list: Any

    def get_results(self, request: HttpRequest) -> None:
        """The page's rows; their use is asked once for all."""
        super().get_results(request)
        rows = list(self.result_list)
        used = rooms.use()
        for row in rows:
            row.use = used.get(row.name, rooms.Use())
        self.result_list = rows


class NewName(Reason):
    """Another name, and what carries the old one."""

    name = forms.CharField(label="New name", max_length=64, widget=UnfoldAdminTextInputWidget)
    field_order = ("name", "reason")

    def effects(self) -> Iterable[object]:
        """How much is changed."""
        use = rooms.use().get(self.row.name, rooms.Use())
        yield f"{use.runners} machines, {use.activities} activities and {use.rounds} rounds carry the name now."
        yield "If the new name is in use already, the two pools become one. That cannot be told apart again."
        if (room := Reservation.objects.filter(pool=self.row.name).select_related("activity").first()) is not None:
            yield f"It is the room reserved for {room.activity}, which keeps it under the new name; that must be nobody else's."


def _has_own_name(row: Pool) -> bool:
    return row.name != DEFAULT_POOL


@admin.register(Pool)
class PoolPages(Page):
    """Every pool that a runner, a round or an activity has named."""

    list_display: Any = ["pool", "machines", "contests", "description"]
    search_fields = ("name", "description")
    fields: Any = ["name", "description", "served_by", "judged_here"]
    when_empty = "A pool is made when a runner, a round or an activity first names it."
    actions_detail = ["rename"]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """Ours, which asks for the use."""
        return PoolList

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Work and runners carry the name: it changes by its own dialog, everywhere at once."""
        return ["name", "served_by", "judged_here"] if obj else ["served_by", "judged_here"]

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody: whoever carries the name would bring it back."""
        return False

    @display(description="Pool")
    def pool(self, row: Pool) -> SafeString:
        """Its name."""
        return marks.pools([row.name])

    @display(description="Machines")
    def machines(self, row: Any) -> SafeString:
        """How many serve it."""
        lacking = not row.use.runners and bool(row.use.rounds or row.use.activities)
        return marks.badge(row.use.runners, "bad" if lacking else "off")

    @display(description="Judged here")
    def contests(self, row: Any) -> str:
        """How many activities and rounds name it."""
        return f"{row.use.activities} activities, {row.use.rounds} rounds"

    @display(description="Served by")
    def served_by(self, row: Pool) -> SafeString:
        """The machines, by name."""
        named = Q(tags__contains=[row.name])
        by_default = Q(tags=[]) if row.name == DEFAULT_POOL else Q(pk__in=[])
        return _links(Runner.objects.exclude(state=RunnerState.REVOKED).filter(named | by_default).order_by("name"))

    @display(description="Judged here")
    def judged_here(self, row: Pool) -> SafeString:
        """The activities and rounds that name it."""
        activities = _links(Activity.objects.filter(pools__contains=[row.name]))
        rounds = _links(Round.objects.filter(pools__contains=[row.name]).select_related("activity"))
        return format_html_join("", "{}<br>", ((part,) for part in (activities, rounds) if part != marks.NOTHING)) or marks.NOTHING

    @act(
        "Rename or merge",
        permission="runners.change_pool",
        text="Every machine, activity and round that carries the name carries the new one afterwards. Waiting work follows at once.",
        submit="Rename it",
        form=NewName,
        icon="drive_file_rename_outline",
        then="changelist",
    )
    def rename(self, request: HttpRequest, row: Pool, said: Said) -> str:
        """Give a pool another name everywhere."""
        changed = rooms.rename(row.name, to=said["name"])
        return f"{row.name} is {said['name'].strip().lower()} now, on {changed.runners} machines."


def _links(rows: QuerySet[Any]) -> SafeString:
    found = list(rows[: MOST_NAMED + 1])
    links = [marks.link(row) for row in found[:MOST_NAMED]] + ["…"] * (len(found) > MOST_NAMED)
    return format_html_join(", ", "{}", ((each,) for each in links)) if links else marks.NOTHING
