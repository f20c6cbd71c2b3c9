"""Putting jobs into another class of priority: one, those that were ticked, or everything that is listed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django import forms
from unfold.widgets import UnfoldAdminSelectWidget

from judging import queue
from judging.admin.actions import Reason
from judging.errors import JobStateWrong, NotFound
from judging.models import Job
from judging.models.work import PRIORITIES
from judging.states import OPEN, Priority

MOST_MOVED = 1000
"""At one go: each is a transaction of its own, while the operator waits for the page."""


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
