"""The library: problems and their immutable versions."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.files.uploadedfile import UploadedFile
from django.db.models import Max, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.decorators import display
from unfold.enums import ActionVariant
from unfold.widgets import UnfoldAdminFileFieldWidget, UnfoldAdminTextareaWidget, UnfoldBooleanSwitchWidget

from judging import library, marks, verification
from judging.admin.actions import Reason, Said, act
from judging.admin.filters import SeenSelectFilter
from judging.admin.opaque import document
from judging.admin.pages import Page, Watched
from judging.admin.verifications import TONES, Verifying
from judging.errors import Refusal
from judging.models import Problem, ProblemVersion, VerificationState
from judging.opaque import compact
from judging.packages import faults, is_archive
from runners.agent.kinds import look_over

MOST_NOTES = 20
MOST_VERIFICATIONS = 10


class NewVersion(Reason):
    """The package of a new version, looked over before anything is kept."""

    package = forms.FileField(
        label="Package",
        required=False,
        widget=UnfoldAdminFileFieldWidget,
        help_text="A ZIP file. Without one runners report an infrastructure failure.",
    )
    props = forms.CharField(
        label="Properties",
        required=False,
        widget=UnfoldAdminTextareaWidget({"rows": 3, "class": "az-json", "spellcheck": "false"}),
        help_text="A JSON object that travels to the runners with every job, or nothing.",
    )
    anyway = forms.BooleanField(label="Keep it all the same", required=False, widget=UnfoldBooleanSwitchWidget)
    field_order = ("package", "props", "reason", "anyway")
    notes: tuple[str, ...] = ()
    """What is odd about the package, though it can be judged."""

    def clean_package(self) -> UploadedFile | None:
        """At most as large as an upload may be."""
        package: UploadedFile | None = self.cleaned_data["package"]
        if package is not None and (package.size or 0) > settings.LIMITS.upload_bytes:
            raise forms.ValidationError(f"A package may have at most {settings.LIMITS.upload_bytes:,} bytes.")
        return package

    def clean_props(self) -> str:
        """Compact JSON, or nothing for an empty object."""
        text = self.cleaned_data["props"]
        try:
            return compact(text, most_bytes=settings.LIMITS.opaque_bytes) if text.strip() else ""
        except Refusal as refusal:
            raise forms.ValidationError(f"{refusal.detail} ({refusal.code})") from refusal

    def clean(self) -> dict[str, Any]:
        """Every fault of the package at once, each with its file and line; nothing is kept while there is one."""
        said: dict[str, Any] = super().clean() or {}
        said["notes"] = ()
        package = said.get("package")
        if package is not None and not said.get("anyway"):
            for words in self._faults(package):
                self.add_error("package", words)
            if "package" in self.errors:
                self.add_error("anyway", "Nothing was kept.")
            said["notes"] = self.notes
        return said

    def _faults(self, package: UploadedFile) -> list[str]:
        content: Any = package.file
        if not is_archive(content):
            return ["It is not a ZIP file, so it was not looked into."]
        found = faults(content)
        if found:
            return [f"{fault.file}{f':{fault.line}' if fault.line else ''}: {fault.words}".removeprefix(": ") for fault in found]
        return self._said_by_its_reader(content)

    def _said_by_its_reader(self, content: Any) -> list[str]:
        """The reference runner's own reader knows what it will refuse; of a type it does not judge it says nothing."""
        looked = look_over(content, self.row.problem_type)
        content.seek(0)
        self.notes = looked.notes if looked else ()
        return list(looked.faults) if looked else []


class ProblemForm(forms.ModelForm):
    """A problem, with words beside what its author would have to guess."""

    class Meta:
        help_texts = {
            "problem_type": "A word that runners declare; the reference runner judges standard-io@1, icpc@1 and output-only@1.",
            "external": "Judged outside this installation, by runners that forward it.",
            "max_deliveries": "How often it is handed out before it fails; 1: what a runner lost is never tried again.",
            "timeout_seconds": "How long all of a run may take, whatever its runner says. The package has the limits of a test.",
            "adapter": "What becomes of the output of a run on the channel.",
        }


@admin.register(Problem)
class ProblemPages(Page):
    """Problems by their slugs."""

    form = ProblemForm
    list_display: Any = ["name", "title", "kind", "newest", "max_deliveries"]
    search_fields = ("slug", "title")
    organization_path = "organization"
    search_help_text = "A slug or a title"
    fields: Any = ["slug", "title", "problem_type", "external", "max_deliveries", "timeout_seconds", "adapter"]
    when_empty = "Make a problem here, give it a version with its package, then assign it to a round."
    actions_detail = ["publish"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Problem]:
        """Problems with the number of their newest version."""
        found: QuerySet[Problem] = super().get_queryset(request).annotate(last_version=Max("versions__number"))
        return found

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Lanes carry the type and the flag from when they were made: changing them here would change half of it."""
        return ["slug", "problem_type", "external"] if obj else []

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:
        """A new one belongs to the organization of whoever makes it."""
        if not change:
            obj.organization = self.organization(request)
        super().save_model(request, obj, form, change)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody: versions, lanes and submissions refer to it."""
        return False

    @act(
        "New version",
        permission="judging.add_problemversion",
        text="Work that is sent from now on is judged by it, unless an assignment pins another. Versions never change.",
        submit="Publish it",
        form=NewVersion,
        icon="upload",
        variant=ActionVariant.PRIMARY,
    )
    def publish(self, request: HttpRequest, row: Problem, said: Said) -> str:
        """Give a problem its next version."""
        package: UploadedFile | None = said["package"]
        made = library.publish(
            row.id,
            package=package.file if package else None,
            name=(package.name if package else None) or "package.zip",
            props=said["props"],
        )
        for note in said["notes"][:MOST_NOTES]:
            messages.warning(request, note)
        if len(said["notes"]) > MOST_NOTES:
            messages.warning(request, f"There are {len(said['notes']) - MOST_NOTES} more notes on the package.")
        return f"{row.slug} has version {made.number} now."

    @display(description="Problem", ordering="slug")
    def name(self, row: Problem) -> SafeString:
        """Its slug."""
        return format_html("<strong>{}</strong>", row.slug)

    @display(description="Type")
    def kind(self, row: Problem) -> SafeString:
        """The word runners declare, and the flag."""
        return format_html("{} {}", marks.code(row.problem_type), marks.badge("external", "warn") if row.external else "")

    @display(description="Newest version")
    def newest(self, row: Any) -> SafeString:
        """Its number; without one nothing can be judged."""
        return marks.badge(f"v{row.last_version}", "off") if row.last_version else marks.badge("no version yet", "bad")


@admin.register(ProblemVersion)
class VersionPages(Verifying, Watched):
    """Versions, which never change."""

    change_form_template = "operators/version.html"
    list_display: Any = ["name", "size", "made"]
    list_filter: Any = [("problem", SeenSelectFilter)]
    list_filter_submit = True
    search_fields = ("problem__slug",)
    organization_path = "problem__organization"
    ordering = ["-created_at"]
    when_empty = "A version is made on its problem's page, from a package."
    actions_detail = ["verify"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[ProblemVersion]:
        """Versions with their problem and package."""
        return super().get_queryset(request).select_related("problem", "package")

    @display(description="Version")
    def name(self, row: ProblemVersion) -> SafeString:
        """Of which problem, and its number."""
        return format_html("<strong>{}</strong> v{}", row.problem.slug, row.number)

    @display(description="Package")
    def size(self, row: ProblemVersion) -> str:
        """How large its package is."""
        return f"{row.package.size_bytes:,} bytes" if row.package else "none"

    @display(description="Made")
    def made(self, row: ProblemVersion) -> SafeString:
        """When."""
        return marks.moment(row.created_at)

    def shown(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """One version: its package by hash, its document, and how its own submissions fared."""
        title = f"{row.problem.slug} v{row.number}"
        found = verifications_of(row)
        live = any(tone == "busy" for _, tone, _ in found)
        return {"title": title, "version": row, "props": document(row.props), "verifications": found, "live": live}


def verifications_of(row: ProblemVersion) -> list[tuple[Any, str, str]]:
    """The latest, each with its tone and its summary."""
    latest = list(row.verifications.order_by("-created_at")[:MOST_VERIFICATIONS])
    found = verification.tallies(latest)
    return [(each, TONES[VerificationState(each.state)], found[each.id].summary) for each in latest]
