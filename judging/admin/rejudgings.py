"""Rejudgings of many: how far each is, what it changes, and whether its results count."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.contrib.filters.admin import ChoicesCheckboxFilter
from unfold.decorators import display
from unfold.enums import ActionVariant

from judging import marks, rejudging
from judging.admin.actions import Reason, Said, act, actor
from judging.admin.pages import FoundById
from judging.admin.seeing import Seen
from judging.admin.swearing import Sworn
from judging.admin.timeline import actors
from judging.models import Rejudging, RejudgingState
from judging.states import Priority
from judging.text import many

TONES = {
    RejudgingState.WORKING: "busy",
    RejudgingState.OPEN: "warn",
    RejudgingState.DONE: "good",
    RejudgingState.APPLIED: "good",
    RejudgingState.CANCELLING: "busy",
    RejudgingState.CANCELLED: "off",
}
MOST_SKIPPED = 200


class Applying(Seen, Sworn):
    """Why, by whom, and what will be another verdict."""

    @cached_property
    def found(self) -> rejudging.Comparison:
        """What would change, asked once."""
        return rejudging.compare(self.row)

    def mark(self) -> str:
        """A sum over every number that is shown, and over whose verdict changes to what."""
        changes = [(each.submission.id, each.old, each.new) for each in self.found.changes]
        shown = (self.found.matrix, self.found.more, self.found.overtaken, self.found.standings, changes)
        return hashlib.sha256(repr(shown).encode()).hexdigest()

    def effects(self) -> Any:
        """The matrix in lines, what changes first."""
        found = self.found
        for (old, new), count in found.matrix.items():
            if old != new:
                yield f"{count}: {old} → {new}"
        yield f"{sum(count for (old, new), count in found.matrix.items() if old == new)} keep their verdict."
        if found.overtaken:
            yield f"{found.overtaken} {'was' if found.overtaken == 1 else 'were'} judged once more since, which counts instead."
        if found.standings:
            yield f"{many(len(found.standings), 'best score')} change."


def _kept_aside(row: Rejudging) -> bool:
    return row.state == RejudgingState.OPEN


def _goes_on(row: Rejudging) -> bool:
    return row.state in {RejudgingState.WORKING, RejudgingState.OPEN}


@admin.register(Rejudging)
class RejudgingPages(FoundById):
    """Every decision to judge many again."""

    change_form_template = "operators/rejudging.html"
    list_display: Any = ["name", "now", "how", "made"]
    list_filter: Any = [("state", ChoicesCheckboxFilter)]
    list_filter_submit = True
    organization_path = "organization"
    when_empty = "Filter the submissions or tick some, then rejudge them: it is listed here with its progress."
    actions_detail = ["apply", "cancel"]

    @display(description="Rejudging")
    def name(self, row: Rejudging) -> SafeString:
        """Why, and what was chosen."""
        return format_html('<strong>{}</strong><br><span class="az-faint az-cut">{}</span>', row.reason, row.chosen)

    @display(description="Now")
    def now(self, row: Rejudging) -> SafeString:
        """How far it is."""
        return marks.badge(row.get_state_display(), TONES[RejudgingState(row.state)])

    @display(description="How")
    def how(self, row: Rejudging) -> SafeString:
        """What makes it different from an ordinary one."""
        urgent = marks.badge("urgent", "warn") if row.urgent else ""
        aside = marks.badge("results aside", "info") if row.aside else ""
        in_class = marks.badge(row.get_priority_display(), "off") if row.priority not in (None, Priority.REJUDGE) and not row.urgent else ""
        return format_html("{} {} {} {}", urgent, in_class, aside, f"{row.repeats} runs each" if row.repeats > 1 else "")

    @display(description="Begun")
    def made(self, row: Rejudging) -> SafeString:
        """When."""
        return marks.moment(row.created_at)

    def shown(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """One rejudging: progress, matrix, whose score changes, what was skipped and why."""
        found = rejudging.compare(row)
        names = actors([row.by, row.settled_by])
        progress = rejudging.progress(row)
        people = self.names([*(each.author for each in found.standings), *(each.submission.author for each in found.changes)])
        places = self.places([each.lane for each in found.standings])
        return {
            "title": f"Rejudging: {row.reason}"[:120],
            "rejudging": row,
            "tone": TONES[RejudgingState(row.state)],
            "live": bool(progress.waiting or progress.queued or progress.running) or row.state == RejudgingState.CANCELLING,
            "by": names[row.by].name,
            "settled_by": names[row.settled_by].name,
            "progress": progress,
            "found": found,
            "matrix": [(old, new, count, old != new) for (old, new), count in found.matrix.items()],
            "changes": [(each, people.get(each.submission.author, "")) for each in found.changes],
            "standings": [(each, people.get(each.author, str(each.author)), places.get(each.lane, "its lane")) for each in found.standings],
            "skipped": row.items.filter(state="skipped").select_related("submission").order_by("id")[:MOST_SKIPPED],
        }

    def names(self, authors: list[UUID | None]) -> dict[UUID | None, str]:
        """What authors are called; judging itself knows nobody."""
        return {}

    def places(self, lanes: list[UUID]) -> dict[UUID, str]:
        """What lanes are called where scores are told."""
        return {}

    @act(
        "Apply",
        permission="judging.apply_rejudging",
        text="The new results count from now on, all at once. What was given up or voided changes nothing.",
        submit="Apply the results",
        form=Applying,
        icon="done_all",
        variant=ActionVariant.PRIMARY,
        fits=_kept_aside,
    )
    def apply(self, request: HttpRequest, row: Rejudging, said: Said) -> str:
        """Let what was kept aside count."""
        applied = rejudging.apply(row.id, by=actor(request))
        return f"The results of {many(applied, 'submission')} count now."

    @act(
        "Cancel",
        permission="judging.rejudge_submission",
        text="No more attempts are opened and those that wait are ended. Results that were kept aside never count.",
        submit="Cancel the rejudging",
        form=Reason,
        icon="block",
        variant=ActionVariant.DANGER,
        fits=_goes_on,
    )
    def cancel(self, request: HttpRequest, row: Rejudging, said: Said) -> str:
        """Open nothing more of it."""
        rejudging.cancel(row.id, by=actor(request))
        return "The rejudging was cancelled; what it opened is being ended."
