"""Activities and their rounds: their windows, and which pools judge them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.admin import TabularInline
from unfold.decorators import display

from contests import reserving, roster, routing
from contests.admin.reserving import GivingBack, Room, has_no_room, has_room
from contests.admin.roster import Roster
from contests.models import Activity, Organization, Round
from judging import marks, overview
from judging.admin.actions import Reason, Said, act
from judging.admin.filters import SeenSelectFilter
from judging.admin.pages import MOMENTS, Page
from judging.admin.pools import PoolChoice
from judging.errors import Refusal
from judging.models import Lane
from judging.waiting import Need, stranded, strength
from runners.enrol import clean_tags, note_pools
from runners.models import DEFAULT_POOL


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
        yield f"{len(lanes)} assignment{'' if len(lanes) == 1 else 's'} follow at once, waiting work included."
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


def ability(lanes: Iterable[Lane]) -> SafeString:
    """How many runners may judge these lanes; the weakest lane counts."""
    fleet = overview.squads()
    able = [strength(Need(lane.problem_type, lane.external, frozenset(lane.pools)), fleet) for lane in lanes]
    if not able:
        return marks.badge("no assignment yet", "off")
    weakest = min(able, key=lambda each: (each.connected, each.approved))
    words = f"{weakest.approved} runner{'' if weakest.approved == 1 else 's'}, {weakest.connected} connected"
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


class RoundsOf(TabularInline):
    """An activity's rounds; their pools are on each round's own page."""

    model = Round
    fields = ("position", "title", "opens_at", "closes_at")
    extra = 0
    can_delete = False
    show_change_link = True
    formfield_overrides = MOMENTS
    tab = False


@admin.register(Organization)
class OrganizationPages(Page):
    """Who organises."""

    list_display: Any = ["name", "slug"]
    search_fields = ("name", "slug")
    organization_path = "id"
    when_empty = "An organization owns activities and problems. One installation may do without."

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Those who see every organization: another one's is nobody else's to make."""
        return self.organization(request) is None and super().has_add_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """The same."""
        return self.organization(request) is None and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody: activities refer to it."""
        return False


@admin.register(Activity)
class ActivityPages(Settled):
    """Contests and courses."""

    form = Pooled
    list_display: Any = ["name", "opens", "closes", "in_pools", "rounds_count"]
    list_filter: Any = [("organization", SeenSelectFilter)]
    list_filter_submit = True
    search_fields = ("title", "slug")
    organization_path = "organization"
    fields: Any = [
        ("title", "slug"),
        "organization",
        "opens_at",
        "closes_at",
        ("pools", "runners"),
        ("priority", "grain"),
        ("enrolment_open", "demo"),
    ]
    settled = ("slug", "organization", "pools", "priority", "grain")
    inlines = [RoundsOf]
    when_empty = "Make an activity, give it a round, and assign problems to the round."
    actions_detail = ["retag", "reserve", "give_back", "take_in"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Activity]:
        """Activities with the number of their rounds."""
        found: QuerySet[Activity] = super().get_queryset(request).annotate(rounds_n=Count("rounds"))
        return found

    @display(description="Activity", ordering="title")
    def name(self, row: Activity) -> SafeString:
        """Its title and the word in its addresses."""
        demo = marks.badge("rehearsal", "warn") if row.demo else ""
        return format_html("<strong>{}</strong> {}<br>{}", row.title, demo, marks.code(row.slug))

    @display(description="Opens")
    def opens(self, row: Activity) -> SafeString:
        """From when it takes submissions."""
        return marks.moment(row.opens_at)

    @display(description="Closes")
    def closes(self, row: Activity) -> SafeString:
        """Until when it takes submissions."""
        return marks.moment(row.closes_at)

    @display(description="Pools")
    def in_pools(self, row: Activity) -> SafeString:
        """Its own, else the default."""
        return marks.pools(row.pools or [DEFAULT_POOL])

    @display(description="Rounds")
    def rounds_count(self, row: Any) -> str:
        """How many."""
        return str(row.rounds_n)

    @display(description="Judged by")
    def runners(self, row: Activity) -> SafeString:
        """The runners that may judge what follows the activity's pools."""
        return ability(following(row)) if row.pk else marks.NOTHING

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: Any) -> None:
        """Rounds, each by what was edited of it."""
        formset.save(commit=False)
        for row, names in formset.changed_objects:
            row.save(update_fields=names)
        for row in formset.new_objects:
            row.save()

    @act(
        "Change pools",
        permission="contests.retag_activity",
        text="Runners with one of these tags judge the activity, from now on. Rounds with pools of their own keep them.",
        submit="Change its pools",
        form=Routed,
        icon="sell",
        shared=True,
    )
    def retag(self, request: HttpRequest, row: Activity, said: Said) -> str:
        """Give an activity other pools."""
        kept = routing.retag_activity(row.id, pools=said["tags"])
        return f"{row.title} is judged in {', '.join(kept) or DEFAULT_POOL} now."

    @act(
        "Reserve a room",
        permission="contests.reserve_room",
        text="These machines judge this activity and nothing else, from their next job on, until they are given back.",
        submit="Reserve it",
        form=Room,
        shared=True,
        icon="meeting_room",
        fits=has_no_room,
    )
    def reserve(self, request: HttpRequest, row: Activity, said: Said) -> str:
        """Set machines apart for an activity."""
        reserving.reserve(row.id, runners=said["runners"], pool=said["pool"])
        count = len(said["runners"])
        return f"{count} machine{'' if count == 1 else 's'} judge only {row.title} now, as {said['pool']}."

    @act(
        "Give the room back",
        permission="contests.reserve_room",
        text="The machines and the activity get back the pools they had. What waits follows at once.",
        submit="Give it back",
        form=GivingBack,
        shared=True,
        icon="no_meeting_room",
        fits=has_room,
    )
    def give_back(self, request: HttpRequest, row: Activity, said: Said) -> str:
        """Put machines and activity back where they were."""
        pool = reserving.give_back(row.id)
        return f"{pool} is no more; its machines are back in their pools."

    @act(
        "Add participants",
        permission="contests.add_participant",
        text="From a table: login name, shown name, password. Nothing is kept before you have seen every line, and then all or none.",
        submit="Go on",
        form=Roster,
        icon="group_add",
    )
    def take_in(self, request: HttpRequest, row: Activity, said: Said) -> str:
        """Make accounts and places for a list of participants."""
        taken = roster.take_in(row.id, said["lines"])
        return f"{taken} participant{'' if taken == 1 else 's'} joined {row.title}."


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
