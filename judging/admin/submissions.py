"""Submissions: what was sent, shown so that it cannot deceive or act, its attempts, and judging it again."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.contrib.filters.admin import RangeDateTimeFilter
from unfold.decorators import display
from unfold.enums import ActionVariant

from judging import exclusion, marks, queue, rejudging
from judging.admin.actions import Reason, Said, act, actor
from judging.admin.collecting import zipped
from judging.admin.downloads import READ_SOURCE, Downloads
from judging.admin.filters import SeenSelectFilter
from judging.admin.listed import ask_about_all, listed, mark_of
from judging.admin.newest import Counted, JudgedBy, LanguageWord, StateOfNewest, VerdictOfNewest, with_newest
from judging.admin.rejudging import EACH_AGAIN, REJUDGE, Rejudge, RejudgeMany, begin, in_words
from judging.admin.sent import told
from judging.admin.ticked import joint_act, reading_act
from judging.errors import Refusal
from judging.models import Submission


def _can_be_rejudged(row: Submission) -> bool:
    return row.deleted_at is None


def _counts(row: Submission) -> bool:
    return row.deleted_at is None and row.excluded_at is None


def _is_excluded(row: Submission) -> bool:
    return row.deleted_at is None and row.excluded_at is not None


@admin.register(Submission)
class SubmissionPages(Downloads):
    """Everything that was sent in."""

    change_form_template = "operators/submission.html"
    list_display: Any = ["name", "attempt", "sent"]
    list_filter: Any = [
        StateOfNewest,
        VerdictOfNewest,
        ("lane__problem", SeenSelectFilter),
        ("jobs__runner", JudgedBy),
        Counted,
        ("created_at", RangeDateTimeFilter),
        ("props", LanguageWord),
    ]
    list_filter_submit = True
    search_help_text = "The id of a submission, its author or its thread, or how it begins"
    also_found_by = ("author", "thread")
    organization_path = "organization"
    when_empty = "Submissions appear here as participants send them. Reset the filters to see them all."
    list_before_template = "operators/listed.html"
    actions = ["rejudge_many", "download_many"]
    actions_detail = ["rejudge", "leave_out", "count_again", "withdraw"]

    def get_custom_urls(self) -> Any:
        """Downloads, and the rejudging of everything that is listed."""
        return (("rejudge-listed/", "judging_submission_rejudge_listed", self.rejudge_listed), *super().get_custom_urls())

    def get_queryset(self, request: HttpRequest) -> QuerySet[Submission]:
        """Submissions with their newest attempt."""
        return with_newest(super().get_queryset(request).select_related("lane__problem", "version"))

    @display(description="Submission")
    def name(self, row: Submission) -> SafeString:
        """The problem, and the id to compare."""
        gone = marks.badge("withdrawn", "bad") if row.deleted_at else marks.badge("excluded", "warn") if row.excluded_at else ""
        return format_html("<strong>{}</strong> {}<br>{}", row.lane.problem.slug, gone, marks.short(row.id))

    def label(self, row: Submission) -> object:
        """As its list calls it."""
        return self.name(row)

    @display(description="Newest attempt")
    def attempt(self, row: Any) -> SafeString:
        """Its state, and its verdict once there is one."""
        if row.state is None:
            return marks.NOTHING
        verdict = format_html("<strong>{}</strong>", row.verdict) if row.verdict else ""
        number = format_html('<span class="az-faint">attempt {}</span>', row.last_attempt) if row.last_attempt > 1 else ""
        voided = marks.badge("voided", "bad") if row.voided_at else ""
        return format_html("{} {} {} {}", marks.state_badge(row.state), verdict, voided, number)

    @display(description="Sent")
    def sent(self, row: Submission) -> SafeString:
        """When it came in."""
        return marks.moment(row.created_at)

    def shown(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """One submission: its attempts, its files as text, and the documents that travel with it."""
        return told(row, readable=request.user.has_perm(READ_SOURCE))

    @act(
        "Rejudge",
        permission="judging.rejudge_submission",
        text="A new attempt is opened. A waiting one gives way to it; one that a runner holds goes on.",
        submit="Rejudge",
        form=Rejudge,
        icon="replay",
        variant=ActionVariant.PRIMARY,
        fits=_can_be_rejudged,
    )
    def rejudge(self, request: HttpRequest, row: Submission, said: Said) -> str:
        """Open another attempt."""
        queue.rejudge(row.id, by=actor(request), reason=said["reason"], urgent=said["urgent"], priority=said["priority"])
        return "A new attempt was opened."

    @joint_act("Rejudge the selected submissions", permission=REJUDGE, text=EACH_AGAIN, submit="Rejudge these", form=RejudgeMany)
    def rejudge_many(self, request: HttpRequest, rows: list[Submission], said: Said) -> str:
        """Begin a rejudging of what was ticked."""
        made = begin(request, [row.id for row in rows], said, chosen=f"{len(rows)} ticked in the list")
        return format_html("{} began.", marks.link(made, "The rejudging"))

    def rejudge_listed(self, request: HttpRequest, **kwargs: Any) -> HttpResponse:
        """Ask about everything that the list shows under the filters of this address, and begin its rejudging."""
        if not (self.has_view_permission(request) and request.user.has_perm(REJUDGE)):
            raise PermissionDenied
        ids = list(listed(self, request).order_by("created_at").values_list("id", flat=True)[: rejudging.MOST + 1])
        posted = request.method == "POST"
        said = RejudgeMany(request.POST if posted else None, request=request, row=ids)
        seen = mark_of(ids)
        moved = posted and request.POST.get("counted") != seen
        chosen = in_words([(name, request.GET[name]) for name in request.GET])
        if posted and not moved and said.is_valid():
            try:
                return HttpResponseRedirect(marks.page_of(begin(request, ids, said.cleaned_data, chosen=chosen)))
            except Refusal as refusal:
                messages.error(request, f"{refusal.detail} ({refusal.code})")
        asked = {"title": "Rejudge what is listed", "text": EACH_AGAIN, "submit": "Rejudge all of these"}
        return ask_about_all(self, request, said, asked=asked, counted=len(ids), seen=seen, moved=moved, chosen=chosen)

    @reading_act("Download the sources of the selected submissions", permission=READ_SOURCE)
    def download_many(self, request: HttpRequest, rows: list[Submission]) -> StreamingHttpResponse:
        """A ZIP of what was ticked."""
        return zipped([row.id for row in rows])

    @act(
        "Exclude",
        permission="judging.exclude_submission",
        text="The submission stops counting. It stays, is judged and can be rejudged as any other, and can be counted again.",
        submit="Exclude it",
        icon="person_off",
        fits=_counts,
    )
    def leave_out(self, request: HttpRequest, row: Submission, said: Said) -> str:
        """Take a submission out of the count."""
        exclusion.exclude(row.id, reason=said["reason"])
        return "The submission was excluded."

    @act(
        "Count again",
        permission="judging.exclude_submission",
        text="The submission counts again, with the verdict it has.",
        submit="Count it",
        icon="person_add",
        fits=_is_excluded,
    )
    def count_again(self, request: HttpRequest, row: Submission, said: Said) -> str:
        """Take an exclusion back."""
        exclusion.include(row.id)
        return "The submission counts again."

    @act(
        "Withdraw",
        permission="judging.delete_submission",
        text="The submission counts and is judged no more; its open attempts end now. This cannot be taken back.",
        submit="Withdraw it",
        form=Reason,
        icon="delete",
        variant=ActionVariant.DANGER,
        fits=_can_be_rejudged,
    )
    def withdraw(self, request: HttpRequest, row: Submission, said: Said) -> str:
        """Mark a submission as deleted."""
        queue.delete_submission(row.id, by=actor(request), reason=said["reason"])
        return "The submission was withdrawn."
