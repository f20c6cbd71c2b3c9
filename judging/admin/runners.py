"""Runners: keys that wait for approval first, and what each machine is and holds."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import BooleanField, Case, Count, ExpressionWrapper, F, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce
from django.http import FileResponse, Http404, HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.contrib.filters.admin import BooleanRadioFilter, ChoicesCheckboxFilter, DropdownFilter
from unfold.decorators import display

from judging import marks
from judging.admin.content import saved
from judging.admin.fleet import connected_since, record_of
from judging.admin.keys import Keys, is_pending
from judging.admin.opaque import document
from judging.models import Delivery, Job, RunnerAttachment
from judging.states import JobState
from runners.clock import Clock
from runners.models import Pool, Runner, RunnerState

MOST_DELIVERIES = 30
NO = False
READ_FILES = "judging.view_runnerattachment"


class Connected(DropdownFilter):
    """Runners that have been heard of lately, or not."""

    title = "connection"
    parameter_name = "connected"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """As the list's own column says it."""
        return [("yes", "connected"), ("no", "not connected")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """By the database's clock."""
        return queryset.filter(connected=self.value() == "yes") if self.value() else queryset


class InPool(DropdownFilter):
    """Runners that serve a pool."""

    title = "pool"
    parameter_name = "pool"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """The pools operators know."""
        return [(name, name) for name in Pool.objects.values_list("name", flat=True)[:500]]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """By the runner's tags; one without any serves `default`."""
        pool = self.value()
        if not pool:
            return queryset
        return queryset.filter(Q(tags__contains=[pool]) | (Q(tags=[]) if pool == "default" else Q()))


@admin.register(Runner)
class RunnerPages(Keys):
    """Every key that ever introduced itself and was not forgotten."""

    change_form_template = "operators/runner.html"
    list_display: Any = ["name_and_key", "standing", "judges", "pools", "seen", "holds", "done"]
    list_filter: Any = [("state", ChoicesCheckboxFilter), Connected, InPool, ("external", BooleanRadioFilter)]
    list_filter_submit = True
    search_fields = ("name", "fingerprint")
    search_help_text = "A name, or a fingerprint as it is read aloud"
    when_empty = "No machine has introduced itself. Start a runner with this server's address; its key then waits here for approval."

    def get_custom_urls(self) -> Any:
        """Downloads of what runners attached to themselves."""
        return (("<uuid:runner>/attachment/<uuid:file>/", "runners_runner_attachment", self.download),)

    def get_actions_list(self, request: HttpRequest) -> list[Any]:
        """What this account may do without a runner."""
        return [action for action in super().get_actions_list(request) if request.user.has_perm(action.method.permission)]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Runner]:
        """Runners, the pending first, with what they hold and whether they are connected."""
        held = Job.objects.filter(runner=OuterRef("id"), state=JobState.RUNNING).order_by().values("runner").annotate(n=Count("*"))
        place = Case(When(state=RunnerState.PENDING, then=0), When(state=RunnerState.APPROVED, then=1), default=2)
        seen = ExpressionWrapper(Q(last_seen_at__gt=connected_since()), output_field=BooleanField())
        found: QuerySet[Runner] = super().get_queryset(request)
        found = found.annotate(now=Clock(), held=Coalesce(Subquery(held.values("n")), 0), connected=Coalesce(seen, Value(NO)))
        return found.order_by(place, F("last_seen_at").desc(nulls_last=True), "name")

    def get_search_results(self, request: HttpRequest, queryset: QuerySet[Any], search_term: str) -> tuple[QuerySet[Any], bool]:
        """By name, or by a fingerprint in the groups it is read aloud in."""
        term = search_term.strip()
        together = "".join(term.split()).lower()
        return queryset.filter(Q(name__icontains=term) | Q(fingerprint__startswith=together)) if term else queryset, False

    @display(description="Runner")
    def name_and_key(self, row: Runner) -> SafeString:
        """Its name; the key in full while it has to be compared."""
        key = marks.fingerprint(row.fingerprint) if is_pending(row) else marks.code(row.fingerprint[:16])
        return format_html("<strong>{}</strong><br>{}", row.name, key)

    @display(description="State")
    def standing(self, row: Runner) -> SafeString:
        """What operators said of it."""
        return marks.state_badge(row.state, row.get_state_display())

    @display(description="Judges")
    def judges(self, row: Runner) -> SafeString:
        """The problem types it declares."""
        return format_html("{} {}", marks.pools(row.problem_types[:4]), marks.badge("external", "warn") if row.external else "")

    @display(description="Pools")
    def pools(self, row: Runner) -> SafeString:
        """The pools it serves."""
        return marks.pools(sorted(row.pools))

    @display(description="Seen")
    def seen(self, row: Any) -> SafeString:
        """Whether it is connected, by which transport since when; else when it was last heard of."""
        if row.connected:
            connected = marks.badge("connected", "good")
            if not row.transport or row.connected_since is None:
                return connected
            return format_html("{}<br>{} since {}", connected, row.get_transport_display(), marks.moment(row.connected_since))
        return marks.moment(row.last_seen_at) if row.last_seen_at else marks.badge("never", "off")

    @display(description="Holds")
    def holds(self, row: Any) -> str:
        """How many jobs it holds now."""
        return str(row.held)

    @display(description="Judged")
    def done(self, row: Runner) -> str:
        """How many results it brought."""
        return f"{row.jobs_done:,}"

    def shown(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """One machine: its key, what it declares and holds, what it did lately."""
        held = Job.objects.filter(runner=row, state=JobState.RUNNING).select_related("lane__problem").annotate(now=Clock())
        lately = Delivery.objects.filter(runner=row).select_related("job__lane__problem").order_by("-claimed_at")
        return {
            "title": row.name,
            "runner": row,
            "machine": document(row.machine),
            "held": list(held.order_by("lease_until")[:100]),
            "deliveries": list(lately[:MOST_DELIVERIES]),
            "record": record_of(row),
            "attachments": list(row.attachments.select_related("file")),
        }

    def download(self, request: HttpRequest, runner: UUID, file: UUID, **kwargs: Any) -> FileResponse:
        """One file that a runner attached to itself."""
        if not (self.has_view_permission(request) and request.user.has_perm(READ_FILES)):
            raise PermissionDenied
        item = RunnerAttachment.objects.filter(runner=runner, file=file).select_related("file").first()
        if item is None:
            raise Http404
        return saved(item.file, name=item.name)
