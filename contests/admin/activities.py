"""Activities: their windows, which pools judge them, the room that is reserved for one, and who takes part."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.decorators import display

from contests import publishing, reserving, roster, routing
from contests.admin.publishing import Publishing, latest
from contests.admin.reserving import GivingBack, Room, has_no_room, has_room
from contests.admin.roster import Roster
from contests.admin.rounds import RoundsOf
from contests.admin.routed import Pooled, Routed, Settled, ability, following
from contests.models import Activity
from judging import marks
from judging.admin.actions import Said, act, actor
from judging.admin.filters import SeenSelectFilter
from judging.text import many
from runners.models import DEFAULT_POOL


class ActivityForm(Pooled):
    """An activity, with words beside what an operator would have to guess."""

    class Meta:
        help_texts = {
            "pools": "Runners with one of these tags judge it. Empty: `default`.",
            "priority": "Whatever is in an earlier class is judged first. It stays as it is made.",
            "grain": "What is judged one at a time. It stays as it is made.",
            "enrolment_open": "Whoever is logged in may join. Otherwise only those you add take part.",
        }


@admin.register(Activity)
class ActivityPages(Settled):
    """Contests and courses."""

    form = ActivityForm
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
        "published",
    ]
    settled = ("slug", "organization", "pools", "priority", "grain")
    inlines = [RoundsOf]
    when_empty = "Make an activity, give it a round, and assign problems to the round."
    actions_detail = ["retag", "reserve", "give_back", "take_in", "publish"]

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

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """What lanes were made from, and what was published."""
        return [*super().get_readonly_fields(request, obj), "published"]

    @display(description="Final results")
    def published(self, row: Activity) -> SafeString:
        """What was published last, and whether it still is what counts."""
        return latest(row) if row.pk else marks.NOTHING

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
        return f"{count} machine{' judges' if count == 1 else 's judge'} only {row.title} now, as {said['pool']}."

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
        taken = roster.take_in(row.id, said["lines"], only=self.organization(request))
        return f"{many(taken, 'participant')} joined {row.title}."

    @act(
        "Publish final results",
        permission="contests.publish_results",
        text="What counts now becomes a document that is never changed. Who takes part may read it.",
        submit="Publish them",
        form=Publishing,
        icon="verified",
    )
    def publish(self, request: HttpRequest, row: Activity, said: Said) -> str:
        """Publish what counts, under the next number."""
        made = publishing.publish(row.id, by=actor(request), reason=said["reason"], seen=said["seen"])
        return f"Results of {row.title} are published as number {made.number}, SHA-256 {made.sha256}."
