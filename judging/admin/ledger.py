"""Deliveries and the ledger: who held what until when, and every accepted move."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.contrib.filters.admin import ChoicesDropdownFilter, RangeDateTimeFilter
from unfold.decorators import display

from judging import marks
from judging.admin.filters import SeenSelectFilter
from judging.admin.pages import FoundById
from judging.admin.timeline import actors
from judging.models import Delivery, Job, LedgerRecord
from runners.clock import Clock

STILL_HELD = "held"
ENDINGS = ("reported", "released", "expired", "requeued", "failed", "cancelled")


class OpenOrEnded(admin.SimpleListFilter):
    """Deliveries that go on, or that ended."""

    title = "ending"
    parameter_name = "ended"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Still held, or by what ended it."""
        return [(STILL_HELD, "still held"), *((word, word) for word in ENDINGS)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> QuerySet[Delivery]:
        """By the type of the record that ended it."""
        if self.value() == STILL_HELD:
            return queryset.filter(ended_at__isnull=True)
        return queryset.filter(ending=self.value()) if self.value() else queryset


@admin.register(Delivery)
class DeliveryPages(FoundById):
    """Every hand-out of a job to a runner."""

    change_form_template = "operators/delivery.html"
    organization_path = "job__thread__organization"
    list_display: Any = ["number", "holder", "claimed", "ended", "how"]
    list_filter: Any = [OpenOrEnded, ("runner", SeenSelectFilter)]
    list_filter_submit = True
    # Ids begin with their time, and this order has an index.
    ordering = ["-job_id", "-fence"]
    search_fields = ("token",)
    search_help_text = "A lease token or the id of a job, or how it begins"
    id_name = "token"
    also_found_by = ("job",)
    when_empty = "A delivery is made each time a runner is given a job. Approve a runner and submit something."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Delivery]:
        """Deliveries with their job and runner."""
        found: QuerySet[Delivery] = super().get_queryset(request).select_related("job__lane__problem", "runner").annotate(now=Clock())
        return found

    @display(description="Delivery")
    def number(self, row: Delivery) -> SafeString:
        """Which hand-out of which job."""
        words = "<strong>{}</strong> <span class='az-faint'>attempt {}, hand-out {}</span>"
        return format_html(words, row.job.lane.problem.slug, row.job.attempt, row.fence)

    @display(description="Runner")
    def holder(self, row: Delivery) -> SafeString:
        """Who got it; a forgotten runner by its id."""
        return marks.link(row.runner) if row.runner else marks.short(row.runner_id or "")

    @display(description="From")
    def claimed(self, row: Delivery) -> SafeString:
        """When it was handed out."""
        return marks.moment(row.claimed_at)

    @display(description="Until")
    def ended(self, row: Any) -> SafeString:
        """When it ended, or what is left of its lease."""
        return marks.moment(row.ended_at) if row.ended_at else marks.countdown(row.job.lease_until, row.now)

    @display(description="Ended by")
    def how(self, row: Delivery) -> SafeString:
        """The record that ended it."""
        return marks.badge(row.ending or STILL_HELD, "busy" if not row.ending else "good" if row.ending == "reported" else "warn")

    def shown(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """One delivery and what it left."""
        return {
            "title": f"Hand-out {row.fence} of {row.job.lane.problem.slug}, attempt {row.job.attempt}",
            "delivery": row,
            "attachments": list(row.attachments.select_related("file")),
        }


@admin.register(LedgerRecord)
class LedgerPages(FoundById):
    """Every accepted move, newest first."""

    change_form_template = "operators/record.html"
    list_display: Any = ["what", "when", "who", "about"]
    list_filter: Any = [("type", ChoicesDropdownFilter), ("at", RangeDateTimeFilter)]
    list_filter_submit = True
    ordering = ["-id"]
    search_fields = ("thread",)
    search_help_text = "The id of a thread or a job, or how it begins"
    id_name = "thread"
    also_found_by = ("job",)
    when_empty = "The ledger begins with the first submission."

    @display(description="Record")
    def what(self, row: LedgerRecord) -> SafeString:
        """Its type and its number in its thread."""
        return format_html("<strong>{}</strong> <span class='az-faint'>no. {}</span>", row.type, row.n)

    @display(description="At")
    def when(self, row: LedgerRecord) -> SafeString:
        """By the database's clock, under the thread's lock."""
        return marks.moment(row.at)

    @display(description="By")
    def who(self, row: LedgerRecord) -> SafeString:
        """As the ledger writes it; names are on the record's page."""
        return marks.code(row.actor)

    @display(description="Job")
    def about(self, row: LedgerRecord) -> SafeString:
        """The job it tells of."""
        return marks.short(row.job)

    def shown(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """One record, its hashes, and the job it tells of."""
        return {
            "title": f"Record {row.n}: {row.type}",
            "record": row,
            "by": actors([row.actor])[row.actor],
            "job": Job.objects.filter(id=row.job).first(),
            "data": sorted((name, str(value)) for name, value in row.data.items()),
            "after": bytes(row.after).hex(),
            "hash": bytes(row.hash).hex(),
        }
