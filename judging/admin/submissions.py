"""Submissions: what was sent, shown so that it cannot deceive or act, its attempts, and judging it again."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef, QuerySet, Subquery
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.contrib.filters.admin import DropdownFilter, FieldTextFilter, RangeDateTimeFilter
from unfold.decorators import display
from unfold.enums import ActionVariant

from judging import exclusion, marks, queue, rejudging
from judging.admin.actions import Reason, Said, act, actor, joint_act, reading_act
from judging.admin.collecting import MOST_SUBMISSIONS, zipped
from judging.admin.content import Shown, saved, shown
from judging.admin.details import ROLE, Details, details_of
from judging.admin.filters import SeenSelectFilter
from judging.admin.opaque import Document, document
from judging.admin.pages import FoundById
from judging.admin.rejudging import Rejudge, RejudgeMany, in_words, wanted_by
from judging.admin.timeline import is_uuid
from judging.errors import Refusal
from judging.models import Attachment, Delivery, Job, Rejudging, Submission, SubmissionFile
from judging.rejudging.counting import set_aside
from judging.states import JobState

READ_SOURCE = "judging.view_submissionfile"
MOST_TABLES = 3
REJUDGE = "judging.rejudge_submission"
EACH_AGAIN = "Each gets a new attempt, opened in the background. What waits already is skipped; what a runner holds goes on."


def newest() -> QuerySet[Job]:
    """The newest attempt at the submission of the outer query, those not counted whose results are kept aside."""
    return Job.objects.filter(~set_aside(), submission=OuterRef("id")).order_by("-attempt")


class StateOfNewest(DropdownFilter):
    """By the state of the newest attempt."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Every state a job may be in."""
        return [(state.value, state.value) for state in JobState]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Asked inside the query, so that an older attempt's state never counts."""
        return queryset.filter(state=self.value()) if self.value() else queryset


class VerdictOfNewest(DropdownFilter):
    """By the verdict of the newest attempt; the words are those that runners use."""

    title = "verdict"
    parameter_name = "verdict"
    most_words = 30

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """The verdicts lately met."""
        organization = model_admin.organization(request)
        seen = Job.objects.filter(finished_at__isnull=False, **({"thread__organization": organization} if organization else {}))
        lately = seen.order_by("-finished_at").values_list("result__verdict", flat=True)[:1000]
        return [(word, word) for word in sorted({word for word in lately if word})[: self.most_words]]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Asked inside the query."""
        return queryset.filter(verdict=self.value()) if self.value() else queryset


class JudgedBy(SeenSelectFilter):
    """Submissions of which a runner holds or has held an attempt."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """By the deliveries, so that attempts without a result are found too."""
        runner = self.value()
        if not runner:
            return queryset
        if not is_uuid(runner):
            return queryset.none()
        return queryset.filter(Exists(Delivery.objects.filter(job__submission=OuterRef("id"), runner=runner)))


class Counted(DropdownFilter):
    """Whether it counts."""

    title = "counts"
    parameter_name = "counts"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """What there is besides those that count."""
        return [("excluded", "excluded"), ("withdrawn", "withdrawn"), ("yes", "yes")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """By the marks on the submission."""
        chosen: dict[str, dict[str, Any]] = {
            "excluded": {"excluded_at__isnull": False},
            "withdrawn": {"deleted_at__isnull": False},
            "yes": {"excluded_at": None, "deleted_at": None},
        }
        return queryset.filter(**chosen.get(str(self.value()), {}))


class LanguageWord(FieldTextFilter):
    """By a word in what the author's client said of it; the server does not read that document, it compares text."""

    title = "word in props"


def _can_be_rejudged(row: Submission) -> bool:
    return row.deleted_at is None


def _counts(row: Submission) -> bool:
    return row.deleted_at is None and row.excluded_at is None


def _is_excluded(row: Submission) -> bool:
    return row.deleted_at is None and row.excluded_at is not None


@admin.register(Submission)
class SubmissionPages(FoundById):
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
        """Downloads of what was sent and of what runners left."""
        return (
            ("rejudge-listed/", "judging_submission_rejudge_listed", self.rejudge_listed),
            ("sources.zip", "judging_submission_sources", self.download_listed),
            ("<uuid:submission>/file/<uuid:file>/", "judging_submission_file", self.download),
            ("<uuid:submission>/attachment/<uuid:file>/", "judging_submission_attachment", self.download_attachment),
        )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Submission]:
        """Submissions with their newest attempt."""
        found = super().get_queryset(request).select_related("lane__problem", "version")
        last = {name: Subquery(newest().values(path)[:1]) for name, path in LAST.items()}
        told: QuerySet[Submission] = found.annotate(**last)
        return told

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
        jobs = list(row.jobs.select_related("result__runner", "runner").annotate(aside=set_aside()).order_by("-attempt")[:100])
        readable = request.user.has_perm(READ_SOURCE)
        files = list(row.files.select_related("file").order_by("position"))
        attachments = _attachments(row)
        return {
            "title": f"Submission to {row.lane.problem.slug}",
            "submission": row,
            "jobs": jobs,
            "sources": [(item, shown(item.file) if readable else None) for item in files],
            "readable": readable,
            "props": document(row.props),
            "config": document(row.lane.config),
            "attachments": attachments,
            "tables": _tables(attachments) if readable else [],
            "result_documents": _documents(jobs) if readable else [],
        }

    def download(self, request: HttpRequest, submission: UUID, file: UUID, **kwargs: Any) -> FileResponse:
        """One file of a submission, whole."""
        self._may_read(request, submission)
        item = SubmissionFile.objects.filter(submission=submission, file=file).select_related("file").first()
        if item is None:
            raise Http404
        return saved(item.file, name=item.file_name)

    def download_attachment(self, request: HttpRequest, submission: UUID, file: UUID, **kwargs: Any) -> FileResponse:
        """One file that a runner left on an attempt."""
        self._may_read(request, submission)
        item = Attachment.objects.filter(delivery__job__submission=submission, file=file).select_related("file").first()
        if item is None:
            raise Http404
        return saved(item.file, name=item.name)

    def download_listed(self, request: HttpRequest, **kwargs: Any) -> StreamingHttpResponse:
        """The sources of everything that the list shows under the filters of this address."""
        self._must_read_sources(request)
        return zipped(self.listed(request).values_list("id", flat=True)[:MOST_SUBMISSIONS])

    def listed(self, request: HttpRequest) -> QuerySet[Submission]:
        """What the list shows under the filters of this address, all pages of it; nothing when it does not understand them."""
        if self.unreadable(request):
            return Submission.objects.none()
        try:
            found: QuerySet[Submission] = self.get_changelist_instance(request).queryset
        except IncorrectLookupParameters:
            return Submission.objects.none()
        return found

    def _must_read_sources(self, request: HttpRequest) -> None:
        if not (self.has_view_permission(request) and request.user.has_perm(READ_SOURCE)):
            raise PermissionDenied

    def _may_read(self, request: HttpRequest, submission: UUID) -> None:
        """Raises PermissionDenied, or Http404 for what this account's own list would not show."""
        self._must_read_sources(request)
        if self.get_object(request, str(submission)) is None:
            raise Http404

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
        queue.rejudge(row.id, by=actor(request), reason=said["reason"], urgent=said["urgent"])
        return "A new attempt was opened."

    @joint_act("Rejudge the selected submissions", permission=REJUDGE, text=EACH_AGAIN, submit="Rejudge these", form=RejudgeMany)
    def rejudge_many(self, request: HttpRequest, rows: list[Submission], said: Said) -> str:
        """Begin a rejudging of what was ticked."""
        made = self._begin(request, [row.id for row in rows], said, chosen=f"{len(rows)} ticked in the list")
        return format_html("{} began.", marks.link(made, "The rejudging"))

    def rejudge_listed(self, request: HttpRequest, **kwargs: Any) -> HttpResponse:
        """Ask about everything that the list shows under the filters of this address, and begin its rejudging."""
        if not (self.has_view_permission(request) and request.user.has_perm(REJUDGE)):
            raise PermissionDenied
        ids = list(self.listed(request).order_by("created_at").values_list("id", flat=True)[: rejudging.MOST + 1])
        posted = request.method == "POST"
        said = RejudgeMany(request.POST if posted else None, request=request, row=ids)
        moved = posted and request.POST.get("counted") != str(len(ids))
        chosen = in_words([(name, request.GET[name]) for name in request.GET])
        if posted and not moved and said.is_valid():
            try:
                return HttpResponseRedirect(marks.page_of(self._begin(request, ids, said.cleaned_data, chosen=chosen)))
            except Refusal as refusal:
                messages.error(request, f"{refusal.detail} ({refusal.code})")
        asked = {"title": "Rejudge what is listed", "text": EACH_AGAIN, "submit": "Rejudge all of these"}
        context = {"dialog": asked, "form": said, "counted": len(ids), "moved": moved, "chosen": chosen, "title": asked["title"]}
        back = f"{reverse('admin:judging_submission_changelist')}?{request.GET.urlencode()}"
        return TemplateResponse(request, "operators/all.html", self.admin_site.each_context(request) | context | {"back": back})

    def _begin(self, request: HttpRequest, ids: list[UUID], said: Said, *, chosen: str) -> Rejudging:
        made = rejudging.begin(ids, by=actor(request), wanted=wanted_by(said, chosen=chosen, organization=self.organization(request)))
        return Rejudging.objects.get(id=made)

    @reading_act("Download the sources of the selected submissions", permission=READ_SOURCE)
    def download_many(self, request: HttpRequest, rows: list[Submission]) -> StreamingHttpResponse:
        """A ZIP of what was ticked."""
        return zipped(row.id for row in rows)

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


LAST = {"state": "state", "verdict": "result__verdict", "last_attempt": "attempt", "voided_at": "voided_at", "last_job": "id"}
"""What a row shows of its newest attempt, by the name it is annotated under."""


def _attachments(row: Submission) -> list[Attachment]:
    left = Attachment.objects.filter(delivery__job__submission=row).select_related("file", "delivery__job", "delivery__runner")
    return list(left.order_by("-delivery__claimed_at", "name")[:100])


def _tables(attachments: list[Attachment]) -> list[tuple[str, Details | None, Shown | None]]:
    """The newest deliveries' details: a table, or the text where it is none."""
    told = [(each, details_of(each.file)) for each in attachments if each.name == ROLE][:MOST_TABLES]
    return [(f"Tests of attempt {each.delivery.job.attempt}", table, None if table else shown(each.file)) for each, table in told]


def _documents(jobs: list[Job]) -> list[tuple[str, Document | None, Document | None]]:
    """What the results carry besides a verdict: for everybody (`extra`) and for the participant (`props`)."""
    results = [(job, getattr(job, "result", None)) for job in jobs]
    return [
        (f"Attempt {job.attempt}", document(result.extra), document(result.props))
        for job, result in results
        if result and (result.extra or result.props)
    ]
