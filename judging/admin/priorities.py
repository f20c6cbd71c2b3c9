"""Putting jobs into another class of priority: one, those that were ticked, or everything that is listed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from unfold.widgets import UnfoldAdminSelectWidget

from judging import queue
from judging.admin.actions import Reason, Said, act, actor
from judging.admin.listed import ask_about_all, back_to, listed
from judging.admin.pages import FoundById
from judging.admin.rejudging import in_words
from judging.admin.ticked import joint_act
from judging.errors import JobStateWrong, NotFound
from judging.models import Job
from judging.models.work import PRIORITIES
from judging.states import OPEN, Priority

MOST_MOVED = 1000
"""At one go: each is a transaction of its own, while the operator waits for the page."""
PRIORITISE = "judging.cancel_job"
SOONER_OR_LATER = "Jobs in an earlier class are handed out first; within a thread age still decides. What is over stays as it is."


class Class(Reason):
    """Why a job goes sooner or later, and in which class."""

    priority = forms.TypedChoiceField(
        label="Class, the first goes first",
        choices=PRIORITIES,
        coerce=lambda value: Priority(int(value)),
        widget=UnfoldAdminSelectWidget,
    )
    field_order = ("priority", "reason")


class ClassOfMany(Class):
    """The same of many: `row` is the jobs, or their ids."""

    def __init__(self, *given: Any, **about: Any) -> None:
        super().__init__(*given, **about)
        self.initial["priority"] = int(Priority.CONTEST)

    def clean(self) -> dict[str, Any]:
        """What was said, about something."""
        if not self.row:
            self.add_error(None, "There is nothing to change: nothing that is listed is waiting or held.")
        return super().clean() or {}

    def effects(self) -> Iterable[object]:
        """How many are in which class now, and how many it is too late for."""
        ids = [getattr(each, "id", each) for each in self.row]
        open_now = Job.objects.filter(id__in=ids, state__in=OPEN).values_list("priority", flat=True)
        classes = Counter(open_now)
        for value, name in PRIORITIES:
            if classes[value]:
                yield f"{classes[value]} in the class {name} now."
        if late := len(ids) - sum(classes.values()):
            yield f"{late} skipped: over already."


def move_all(jobs: Sequence[UUID], priority: Priority, *, by: str, reason: str) -> str:
    """Put each of these that is open into a class; in words, how many were and how many it was too late for."""
    moved = 0
    for job in jobs:
        try:
            queue.prioritise(job, priority, by=by, reason=reason)
            moved += 1
        except (JobStateWrong, NotFound):
            continue
    late = f" {len(jobs) - moved} skipped: over already." if moved < len(jobs) else ""
    jobs_are = "1 job is" if moved == 1 else f"{moved} jobs are"
    return f"{jobs_are} in the class {priority.name.lower()} now.{late}"


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else 0


def is_open(job: Job) -> bool:
    """Whether its class can still be changed, or the job ended."""
    return job.state in OPEN


class Prioritising(FoundById):
    """The part of the jobs' pages that moves jobs to another class."""

    def get_custom_urls(self) -> Any:
        """Another class for everything that is listed."""
        return (("prioritise-listed/", "judging_job_prioritise_listed", self.prioritise_listed),)

    @act(
        "Change priority",
        permission=PRIORITISE,
        text="The job moves to another class; within its thread its age still decides.",
        submit="Change it",
        form=Class,
        icon="low_priority",
        fits=is_open,
    )
    def prioritise(self, request: HttpRequest, row: Job, said: Said) -> str:
        """Move an open job to another class."""
        queue.prioritise(row.id, said["priority"], by=actor(request), reason=said["reason"])
        return f"The job is {said['priority'].name.lower()} now."

    @joint_act("Change priority of the selected jobs", permission=PRIORITISE, text=SOONER_OR_LATER, submit="Change them", form=ClassOfMany)
    def prioritise_many(self, request: HttpRequest, rows: list[Job], said: Said) -> str:
        """Move each of the chosen jobs that is open."""
        return move_all([row.id for row in rows], said["priority"], by=actor(request), reason=said["reason"])

    def prioritise_listed(self, request: HttpRequest, **kwargs: Any) -> HttpResponse:
        """Ask about every open job that the list shows under the filters of this address, and move them, the oldest first."""
        if not (self.has_view_permission(request) and request.user.has_perm(PRIORITISE)):
            raise PermissionDenied
        found = listed(self, request).filter(state__in=OPEN).order_by("created_at", "id")
        ids = list(found.values_list("id", flat=True)[: MOST_MOVED + 1])
        more, ids = len(ids) > MOST_MOVED, ids[:MOST_MOVED]
        posted = request.method == "POST"
        said = ClassOfMany(request.POST if posted else None, request=request, row=ids)
        # Jobs come and go while one reads: what was counted is an upper bound, and no more than that is moved.
        moved = posted and len(ids) > _number(request.POST.get("counted"))
        if posted and not moved and said.is_valid():
            words = move_all(ids, said.cleaned_data["priority"], by=actor(request), reason=said.cleaned_data["reason"])
            messages.success(request, words)
            return HttpResponseRedirect(back_to(self, request))
        text = f"{SOONER_OR_LATER} These are the oldest {MOST_MOVED:,}; there are more, for another time." if more else SOONER_OR_LATER
        asked = {"title": "Change the priority of what is listed", "text": text, "submit": "Change all of these"}
        chosen = in_words([(name, request.GET[name]) for name in request.GET])
        return ask_about_all(self, request, said, asked=asked, counted=len(ids), moved=moved, chosen=chosen)
