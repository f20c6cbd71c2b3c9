"""What a rejudge asks, of one submission or of many, wherever it is started."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminRadioSelectWidget,
    UnfoldAdminSelectWidget,
    UnfoldBooleanSwitchWidget,
)

from judging import rejudging
from judging.admin.actions import Reason, actor
from judging.models import Rejudging
from judging.models.work import PRIORITIES
from judging.rejudging import Wanted
from judging.rejudging.begin import MOST_REPEATS
from judging.states import Priority
from judging.text import many

ORDINARY, URGENT = "ordinary", "urgent"
REJUDGE = "judging.rejudge_submission"
EACH_AGAIN = "Each gets a new attempt, opened in the background. What waits already is skipped; what a runner holds goes on."


class Rejudge(Reason):
    """Why it is judged again, and how soon."""

    mode = forms.ChoiceField(
        label="How soon",
        choices=[
            (ORDINARY, "Ordinary: in its class, by default after everything that waits for its first verdict"),
            (URGENT, "Urgent: before everything else; replaces what waits in its thread"),
        ],
        initial=ORDINARY,
        widget=UnfoldAdminRadioSelectWidget,
    )

    priority = forms.TypedChoiceField(
        label="Class of an ordinary one, the first goes first",
        choices=[(value, name) for value, name in PRIORITIES if value != Priority.URGENT],
        coerce=lambda value: Priority(int(value)),
        initial=int(Priority.REJUDGE),
        required=False,
        widget=UnfoldAdminSelectWidget,
        help_text="Whatever is in an earlier class goes before it. An urgent one goes before all classes.",
    )
    field_order: Sequence[str] = ("mode", "priority", "reason")

    def clean(self) -> dict[str, Any]:
        """The mode as the verb takes it."""
        said: dict[str, Any] = super().clean() or {}
        return said | {"urgent": said.get("mode") == URGENT, "priority": said.get("priority") or Priority.REJUDGE}


class RejudgeMany(Rejudge):
    """As Rejudge, of many at once: `row` is what was chosen: submissions, their ids, or jobs. What waits already is skipped."""

    aside = forms.BooleanField(
        label="Keep the results aside until they are applied",
        required=False,
        widget=UnfoldBooleanSwitchWidget,
        help_text="Until then nobody's verdict changes, and cancelling leaves no trace.",
    )
    repeats = forms.IntegerField(
        label="How often each",
        min_value=1,
        max_value=MOST_REPEATS,
        initial=1,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text="One after the other, to see whether the verdict is steady. The last one counts.",
    )
    field_order = ("mode", "priority", "aside", "repeats", "reason")

    def __init__(self, *given: Any, **about: Any) -> None:
        super().__init__(*given, **about)
        mode: Any = self.fields["mode"]
        mode.choices = [(ORDINARY, mode.choices[0][1]), (URGENT, "Urgent: before everything else")]

    def chosen(self) -> list[UUID]:
        """The ids of the submissions that were chosen, of jobs theirs."""
        found = (getattr(each, "submission_id", getattr(each, "id", each)) for each in self.row)
        return list(dict.fromkeys(found))

    def effects(self) -> Iterable[object]:
        """How many get an attempt, and how many do not and why."""
        seen = rejudging.preview(self.chosen())
        yield f"{many(seen.submissions, 'submission')} chosen."
        if seen.running:
            yield f"{seen.running} being judged now: the new attempt follows the one that is held."
        for count, why in (
            (seen.waiting, "an attempt waits already"),
            (seen.elsewhere, "another rejudging has it"),
            (seen.withdrawn, "withdrawn"),
        ):
            if count:
                yield f"{count} skipped: {why}."


def begin(request: HttpRequest, submissions: Sequence[UUID], said: Any, *, chosen: str) -> Rejudging:
    """Store the decision that the form asked for. Raises NothingChosen, TooManyChosen."""
    site: Any = admin.site
    wanted = wanted_by(said, chosen=chosen, organization=site.organization(request))
    return Rejudging.objects.get(id=rejudging.begin(submissions, by=actor(request), wanted=wanted))


def wanted_by(said: Any, *, chosen: str, organization: UUID | None) -> Wanted:
    """What the form says, as the verb takes it."""
    return Wanted(
        reason=said["reason"],
        chosen=chosen,
        urgent=said["urgent"],
        priority=said["priority"],
        aside=said["aside"],
        repeats=said["repeats"],
        organization=organization,
    )


def in_words(asked: Sequence[tuple[str, str]]) -> str:
    """A filter's address as a note of what was chosen."""
    return ", ".join(f"{_plain(name)} = {value}" for name, value in asked if value) or "all"


def _plain(name: str) -> str:
    """What a filter's parameter is called: its last word, without how it compares."""
    return name.removesuffix("__exact").removesuffix("__id").rpartition("__")[2] or name
