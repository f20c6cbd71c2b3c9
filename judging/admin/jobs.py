"""Jobs: what waits and why, who holds what until when, what came of it, and the acts on one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.contrib.filters.admin import ChoicesCheckboxFilter, RangeDateTimeFilter
from unfold.decorators import display
from unfold.enums import ActionVariant
from unfold.views import ChangeList

from judging import marks, overview, queue
from judging.admin.actions import Reason, Said, act, actor
from judging.admin.filters import SeenSelectFilter
from judging.admin.newest import HeldBy
from judging.admin.priorities import Prioritising, is_open
from judging.admin.rejudging import EACH_AGAIN, REJUDGE, Rejudge, RejudgeMany, begin
from judging.admin.standing import standing
from judging.admin.swearing import Sworn
from judging.admin.ticked import bulk_act, joint_act
from judging.admin.timeline import history_of
from judging.models import Job
from judging.states import JobState
from judging.waiting import URGENT
from runners.clock import Clock


class JobList(ChangeList):
    """A page of jobs, where those that wait know why."""

    result_list: Any

    def get_results(self, request: HttpRequest) -> None:
        """The page's rows; what keeps each waiting is asked once for all."""
        super().get_results(request)
        rows = list(self.result_list)
        why = overview.why(rows)
        for row in rows:
            row.why = why.get(row.id, [])
        self.result_list = rows


class EndNow(Reason):
    """Why a job is ended or taken back, and what that does to its holder."""

    def effects(self) -> Iterable[object]:
        """Who loses the job."""
        if self.row.state == JobState.RUNNING:
            yield format_html("{} holds it now; its lease token is retired, and whatever it still reports is refused.", self.row.runner)


def _is_held(job: Job) -> bool:
    return job.state == JobState.RUNNING


def _counts(job: Job) -> bool:
    return job.state == JobState.COMPLETED and job.voided_at is None


@admin.register(Job)
class JobPages(Prioritising):
    """Every attempt at judging a submission."""

    change_form_template = "operators/job.html"
    list_display: Any = ["name", "now", "pools", "hand_outs", "since"]
    list_filter: Any = [
        ("state", ChoicesCheckboxFilter),
        ("priority", ChoicesCheckboxFilter),
        ("lane__problem", SeenSelectFilter),
        ("runner", HeldBy),
        ("created_at", RangeDateTimeFilter),
    ]
    list_filter_submit = True
    search_help_text = "The id of a job, submission or thread, or how it begins"
    also_found_by = ("submission", "thread")
    organization_path = "thread__organization"
    when_empty = "Jobs appear here as soon as somebody submits. Reset the filters to see them all."
    list_before_template = "operators/listed_jobs.html"
    actions = ["rejudge_many", "prioritise_many", "cancel_many"]
    actions_detail = ["rejudge", "give_back", "prioritise", "cancel", "void"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Job]:
        """Jobs with all that a row shows."""
        found = super().get_queryset(request).select_related("lane__problem", "runner", "thread", "result__runner")
        timed: QuerySet[Job] = found.annotate(now=Clock())
        return timed

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """Ours, which asks why jobs wait."""
        return JobList

    @display(description="Job")
    def name(self, job: Job) -> SafeString:
        """The problem and the attempt, and the id to compare."""
        urgent = marks.badge("urgent", "warn") if job.urgent else ""
        words = "<strong>{}</strong> <span class='az-faint'>attempt {}</span> {}<br>{}"
        return format_html(words, job.lane.problem.slug, job.attempt, urgent, marks.short(job.id))

    def label(self, row: Job) -> object:
        """As its list calls it."""
        return self.name(row)

    @display(description="Now")
    def now(self, job: Any) -> SafeString:
        """The state, and what matters in it: the obstacle, the holder with its lease, the verdict, or the reason."""
        return format_html("{} {}", marks.state_badge(job.state), standing(job))

    @display(description="Pools")
    def pools(self, job: Job) -> SafeString:
        """Where it may be judged."""
        return marks.pools(job.lane.pools)

    @display(description="Hand-outs")
    def hand_outs(self, job: Job) -> str:
        """Those that count, of those allowed."""
        return f"{job.deliveries} of {job.cap}"

    @display(description="Created")
    def since(self, job: Job) -> SafeString:
        """When it was opened."""
        return marks.moment(job.created_at)

    def shown(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """One job: why it waits or who holds it, its deliveries, its story, its result."""
        siblings = Job.objects.filter(submission=row.submission_id).exclude(id=row.id).select_related("result").order_by("attempt")
        return {
            "title": f"{row.lane.problem.slug}, attempt {row.attempt}",
            "job": row,
            "why": overview.why([row]).get(row.id, []),
            "urgent": URGENT,
            "history": history_of(row, now=row.now),
            "siblings": siblings[:50],
            "files": row.submission.files.select_related("file"),
        }

    @act(
        "Cancel",
        permission="judging.cancel_job",
        text="The job ends without a verdict. That is final; only a rejudge judges the submission again.",
        submit="Cancel the job",
        form=EndNow,
        icon="block",
        variant=ActionVariant.DANGER,
        fits=is_open,
    )
    def cancel(self, request: HttpRequest, row: Job, said: Said) -> str:
        """End an open job."""
        queue.cancel(row.id, by=actor(request), reason=said["reason"])
        return "The job was cancelled."

    @bulk_act(
        "Cancel the selected jobs",
        permission="judging.cancel_job",
        text="They end without a verdict. That is final; only a rejudge judges a submission again.",
        submit="Cancel these jobs",
        variant=ActionVariant.DANGER,
    )
    def cancel_many(self, request: HttpRequest, row: Job, said: Said) -> str:
        """End each of the chosen jobs that is open."""
        queue.cancel(row.id, by=actor(request), reason=said["reason"])
        return "cancelled."

    @act(
        "Return to queue",
        permission="judging.give_back_job",
        text="The job is taken from its runner and waits for another. The delivery stays counted; this never fails the job.",
        submit="Return it",
        form=EndNow,
        icon="undo",
        fits=_is_held,
    )
    def give_back(self, request: HttpRequest, row: Job, said: Said) -> str:
        """Take a held job from its runner."""
        queue.give_back(row.id, by=actor(request), reason=said["reason"])
        return "The job is back in the queue."

    @joint_act(
        "Rejudge the submissions of the selected jobs", permission=REJUDGE, text=EACH_AGAIN, submit="Rejudge these", form=RejudgeMany
    )
    def rejudge_many(self, request: HttpRequest, rows: list[Job], said: Said) -> str:
        """Begin a rejudging of what these jobs were attempts at."""
        made = begin(request, list(dict.fromkeys(row.submission_id for row in rows)), said, chosen=f"{len(rows)} jobs ticked in the list")
        return format_html("{} began.", marks.link(made, "The rejudging"))

    @act(
        "Void the result",
        permission="judging.void_job",
        text="The result stops counting. Nothing is judged again by this: rejudge the submission if it should be.",
        submit="Void the result",
        form=Sworn,
        icon="gavel",
        variant=ActionVariant.DANGER,
        fits=_counts,
    )
    def void(self, request: HttpRequest, row: Job, said: Said) -> str:
        """Take a result out of the count."""
        queue.void(row.id, by=actor(request), reason=said["reason"])
        return "The result no longer counts."

    @act(
        "Rejudge",
        permission="judging.rejudge_submission",
        text="A new attempt is opened. A waiting one gives way to it; one that a runner holds goes on.",
        submit="Rejudge",
        form=Rejudge,
        icon="replay",
    )
    def rejudge(self, request: HttpRequest, row: Job, said: Said) -> str:
        """Open another attempt at the job's submission."""
        queue.rejudge(row.submission_id, by=actor(request), reason=said["reason"], urgent=said["urgent"], priority=said["priority"])
        return "A new attempt was opened."
