"""Verifications of problem versions: asking for one, and what each found."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.contrib.filters.admin import ChoicesCheckboxFilter
from unfold.decorators import display
from unfold.enums import ActionVariant
from unfold.widgets import UnfoldAdminTextareaWidget

from judging import marks, overview, verification
from judging.admin.actions import REASON_LENGTH, Reason, Said, act, actor
from judging.admin.filters import SeenSelectFilter
from judging.admin.pages import FoundById
from judging.admin.pools import PoolChoice
from judging.admin.timeline import actors
from judging.errors import Refusal
from judging.models import Lane, ProblemVersion, PromiseState, Verification, VerificationState
from judging.opaque import compact
from judging.text import many
from judging.verification import Preview, Wanted
from judging.waiting import Need, strength
from runners.agent.kinds import KINDS
from runners.models import DEFAULT_POOL

TONES = {
    VerificationState.WORKING: "busy",
    VerificationState.DONE: "info",
    VerificationState.CANCELLING: "busy",
    VerificationState.CANCELLED: "off",
}
ROW_TONES = {
    PromiseState.WAITING: "off",
    PromiseState.SENT: "busy",
    PromiseState.KEPT: "good",
    PromiseState.BROKEN: "bad",
    PromiseState.ENDED: "off",
    PromiseState.SKIPPED: "warn",
}


class Verify(PoolChoice):
    """Who judges the jury's submissions and by what: at first as the problem is judged where it was used last."""

    config = forms.CharField(
        label="Configuration",
        required=False,
        widget=UnfoldAdminTextareaWidget({"rows": 3, "class": "az-json", "spellcheck": "false"}),
        help_text="A JSON object laid over the package's own, as an assignment's is.",
    )
    reason = forms.CharField(
        max_length=REASON_LENGTH, widget=UnfoldAdminTextareaWidget({"rows": 2}), help_text="Kept with your name and the time."
    )
    field_order = ("pools", "more", "config", "reason")

    def __init__(self, *given: Any, **about: Any) -> None:
        super().__init__(*given, **about)
        del self.fields["anyway"]
        site: Any = admin.site
        if site.organization(self.request) is not None:
            # Machines are shared: accounts of one organization use the pools they were given.
            del self.fields["pools"], self.fields["more"]
        lane = self._used_last()
        self.initial["config"] = lane.config if lane else ""

    def _used_last(self) -> Lane | None:
        return Lane.objects.filter(problem=self.row.problem_id, verification=None).order_by("-id").first()

    def worn(self) -> list[str]:
        """The pools that judge it where it was used last."""
        lane = self._used_last()
        return list(lane.pools) if lane else [DEFAULT_POOL]

    def clean(self) -> dict[str, Any]:
        """As any choice of pools; where there is none to make, those that are worn."""
        said = super().clean()
        return said if "pools" in self.fields else said | {"tags": self.worn()}

    def clean_config(self) -> str:
        """Compact JSON, or nothing for an empty object."""
        text = self.cleaned_data["config"]
        try:
            return compact(text, most_bytes=settings.LIMITS.opaque_bytes) if text.strip() else ""
        except Refusal as refusal:
            raise forms.ValidationError(f"{refusal.detail} ({refusal.code})") from refusal

    def effects(self) -> Iterable[object]:
        """How many submissions in how many languages, and who could judge them; or why none can be."""
        config = self.data.get("config", "") if self.is_bound else self.initial["config"]
        try:
            found = verification.preview(self.row, config=compact(config or "{}", most_bytes=settings.LIMITS.opaque_bytes))
        except Refusal as refusal:
            yield refusal.detail
            return
        yield in_words(found)
        pools = frozenset(self.initial["pools"])
        able = strength(Need(self.row.problem.problem_type, self.row.problem.external, pools), overview.squads())
        yield f"In {', '.join(sorted(pools))}: {many(able.connected, 'connected runner')}, {able.idle} idle."


def in_words(found: Preview) -> str:
    """How many, and of what."""
    count, languages = sum(found.languages.values()), len(found.languages)
    kinds = ", ".join(f"{number} {language}" for language, number in found.languages.items())
    told = f"{many(count, 'submission')} in {many(languages, 'language')}{': ' if kinds else ''}{kinds}."
    return f"{told} {found.unknown} more in no language that is known here: not judged." if found.unknown else told


def can_be_verified(row: ProblemVersion) -> bool:
    """Whether there is a package that the reference runner reads."""
    return row.package_id is not None and row.problem.problem_type in KINDS


def _goes_on(row: Verification) -> bool:
    return row.state == VerificationState.WORKING


class Verifying:
    """What the page of a version gains."""

    @act(
        "Verify",
        permission="judging.verify_problemversion",
        text="The package's own submissions are judged as jury work, after everything that participants wait for, "
        "and compared with what is promised of them. They count nowhere.",
        submit="Judge and compare",
        form=Verify,
        icon="fact_check",
        variant=ActionVariant.PRIMARY,
        fits=can_be_verified,
    )
    def verify(self, request: HttpRequest, row: ProblemVersion, said: Said) -> str:
        """Judge the jury's own submissions and compare."""
        wanted = Wanted(said["reason"], tuple(said["tags"]), said["config"])
        verification.begin(row.id, by=actor(request), wanted=wanted)
        return "The verification was begun; it is listed below with what it finds."


@admin.register(Verification)
class VerificationPages(FoundById):
    """Every time a version was judged against its own submissions."""

    change_form_template = "operators/verification.html"
    list_display: Any = ["name", "now", "made"]
    list_filter: Any = [("state", ChoicesCheckboxFilter), ("version__problem", SeenSelectFilter)]
    list_filter_submit = True
    list_select_related = ["version__problem", "lane"]
    organization_path = "version__problem__organization"
    when_empty = "On the page of a problem's version, ask for its verification: it is listed here with what it found."
    actions_detail = ["cancel"]

    @display(description="Version")
    def name(self, row: Verification) -> SafeString:
        """What is verified, and why."""
        return format_html('<strong>{}</strong><br><span class="az-faint az-cut">{}</span>', row.version, row.reason)

    @display(description="Now")
    def now(self, row: Verification) -> SafeString:
        """How far it is."""
        return marks.badge(row.get_state_display(), TONES[VerificationState(row.state)])

    @display(description="Begun")
    def made(self, row: Verification) -> SafeString:
        """When."""
        return marks.moment(row.created_at)

    def shown(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """One verification: expected against found, submission by submission."""
        found = verification.progress(row)
        names = actors([row.by, row.settled_by])
        return {
            "title": f"Verification of {row.version}",
            "verification": row,
            "tone": TONES[VerificationState(row.state)],
            "live": row.state in {VerificationState.WORKING, VerificationState.CANCELLING},
            "by": names[row.by].name,
            "settled_by": names[row.settled_by].name if row.settled_by else "",
            "found": found,
            "rows": [(each, ROW_TONES[PromiseState(each.item.state)]) for each in found.rows],
            "config": row.lane.config,
        }

    @act(
        "Cancel",
        permission="judging.verify_problemversion",
        text="Nothing more is sent in, and what waits or is being judged is ended.",
        submit="Cancel the verification",
        form=Reason,
        icon="block",
        variant=ActionVariant.DANGER,
        fits=_goes_on,
    )
    def cancel(self, request: HttpRequest, row: Verification, said: Said) -> str:
        """Send nothing more in."""
        verification.cancel(row.id, by=actor(request))
        return "The verification was cancelled; what it has open is being ended."
