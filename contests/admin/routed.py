"""What activities and rounds have in common: which pools judge them, who that is, and what is kept once lanes were made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django import forms
from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from contests.models import Activity, Round
from judging import marks, overview
from judging.admin.actions import Reason
from judging.admin.pages import Page
from judging.admin.pools import PoolChoice
from judging.errors import Refusal
from judging.models import Lane
from judging.text import many
from judging.waiting import Need, Squad, stranded, strength
from runners.models import DEFAULT_POOL
from runners.tags import clean_tags, note_pools


class Pooled(forms.ModelForm):
    """A new activity or round: its pools are kept as they are compared."""

    def clean_pools(self) -> list[str]:
        """Trimmed, lowercased, deduplicated."""
        try:
            return clean_tags(self.cleaned_data["pools"] or [], limits=settings.LIMITS)
        except Refusal as refusal:
            raise forms.ValidationError(f"{refusal.detail} ({refusal.code})") from refusal


class Routed(Reason, PoolChoice):
    """Other pools for an activity or a round, what follows them, and who would judge it."""

    def lanes(self) -> QuerySet[Lane]:
        """The lanes that follow."""
        return Lane.objects.filter(assignment__round=self.row) if isinstance(self.row, Round) else following(self.row)

    def effects(self) -> Iterable[object]:
        """How many streams of work follow, and what judges them now."""
        lanes = list(self.lanes())
        yield f"{many(len(lanes), 'assignment')} follow at once, waiting work included."
        yield format_html("Judged now by {}.", ability(lanes))

    def stranded(self, tags: list[str]) -> list[Need]:
        """Waiting work of these lanes that no runner could take in the new pools."""
        fallback = self.row.activity.pools if isinstance(self.row, Round) else []
        pools = frozenset(tags or fallback or [DEFAULT_POOL])
        waiting = self.lanes().filter(threads__claimable=True).values_list("problem_type", "external").distinct()
        return stranded([Need(kind, external, pools) for kind, external in waiting], overview.squads())


def following(activity: Activity) -> QuerySet[Lane]:
    """The lanes of an activity whose rounds have no pools of their own."""
    return Lane.objects.filter(assignment__round__activity=activity, assignment__round__pools=[])


def ability(lanes: Iterable[Lane], fleet: Sequence[Squad] | None = None) -> SafeString:
    """How many runners may judge these lanes; the weakest lane counts. `fleet` where it was asked for already."""
    fleet = overview.squads() if fleet is None else fleet
    able = [strength(Need(lane.problem_type, lane.external, frozenset(lane.pools)), fleet) for lane in lanes]
    if not able:
        return marks.badge("no assignment yet", "off")
    weakest = min(able, key=lambda each: (each.connected, each.approved))
    words = f"{many(weakest.approved, 'runner')}, {weakest.connected} connected"
    least = "least served: " if len(set(able)) > 1 else ""
    return marks.badge(least + words, "good" if weakest.connected else "bad")


class Settled(Page):
    """A page whose rows keep what the lanes were made from; saving writes only what was edited.

    The pools may have been changed by their own dialog while a form was open: a whole row would put them back.
    """

    settled: tuple[str, ...] = ()

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """What lanes were made from, once there is a row; the pools are named by those who may see them."""
        if obj:
            return [*self.settled, "runners"]
        return ["runners"] if self.organization(request) is None else ["pools", "runners"]

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody: submissions refer to it."""
        return False

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:
        """Write a new row whole, and of an old one what was edited."""
        if change:
            obj.save(update_fields=[name for name in form.changed_data if name in form.fields])
            return
        if isinstance(obj, Activity) and (organization := self.organization(request)) is not None:
            obj.organization_id = organization
        super().save_model(request, obj, form, change)
        note_pools(obj.pools)
