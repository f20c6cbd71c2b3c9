"""What the dialogs about runners ask and warn of, and what a runner's record says of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django import forms
from django.conf import settings
from django.db import connection
from django.db.models import DateTimeField, ExpressionWrapper, Value
from django.utils.html import format_html
from unfold.widgets import UnfoldAdminTextInputWidget, UnfoldBooleanSwitchWidget

from judging import marks, overview
from judging.admin.actions import Dialog, Reason
from judging.admin.pools import PoolChoice
from judging.admin.swearing import Sworn
from judging.models import Job
from judging.states import JobState
from judging.text import many
from judging.waiting import Need, Squad, stranded, strength, without
from runners.clock import Clock
from runners.models import DEFAULT_POOL, ChannelKey, Runner, RunnerState

MOST_NAMED = 8
RECENT = 200

# Bounded by the index on (runner, claimed_at): a machine that judged a million jobs is read no further back.
_RECORD = f"""
SELECT count(DISTINCT job_id), count(DISTINCT job_id) FILTER (WHERE failure OR ending IN ('failed', 'expired')),
       avg(extract(epoch FROM ended_at - claimed_at)) FILTER (WHERE ending = 'reported')
FROM (SELECT d.job_id, d.ending, d.ended_at, d.claimed_at,
             EXISTS (SELECT 1 FROM judging_ledgerrecord l WHERE l.job = d.job_id AND l.data->>'token' = d.token::text
                     AND (l.type = 'reported' AND l.data->>'judged' = 'false' OR l.type = 'requeued' AND l.data->>'cause'
                         IN ('infrastructure failure', 'contact with the runner was lost'))) AS failure
      FROM judging_delivery d WHERE d.runner_id = %s AND d.ended_at IS NOT NULL
      ORDER BY d.claimed_at DESC LIMIT {RECENT}) d
"""


@dataclass(frozen=True, slots=True)
class Record:
    """A runner's last deliveries that ended, by their jobs; `seconds` is the mean time to a report, None without one."""

    jobs: int
    failed: int
    seconds: float | None

    @property
    def trouble(self) -> float:
        """The share of its jobs that it failed at or let run out, in percent: as judging/trouble.py has it."""
        return 100 * self.failed / self.jobs if self.jobs else 0.0

    @property
    def suspect(self) -> bool:
        """Whether an operator should look at the machine: a fifth of at least ten jobs came to nothing."""
        return self.jobs >= 10 and self.trouble >= 20


def record_of(runner: Runner) -> Record:
    """What a runner did lately."""
    with connection.cursor() as cursor:
        cursor.execute(_RECORD, [runner.id])
        return Record(*cursor.fetchone())


def connected_since() -> Any:
    """A runner seen after this moment, by the database's clock, is connected."""
    return ExpressionWrapper(Clock() - Value(settings.LIMITS.connected_within), output_field=DateTimeField())


def alone(runner: Runner, *, pools: Iterable[str] | None = None) -> Squad:
    """A runner as a squad of one, with the pools it has or would have."""
    serves = frozenset(runner.pools if pools is None else pools) or frozenset({DEFAULT_POOL})
    return Squad(frozenset(runner.problem_types), runner.external, serves, approved=int(runner.state == RunnerState.APPROVED))


def newly_stranded(leaving: list[Squad], joining: list[Squad]) -> list[Need]:
    """Waiting work that some runner may take now, and none could after the change."""
    fleet = overview.squads()
    served = [kind.need for kind in overview.kinds() if strength(kind.need, fleet).approved]
    return stranded(served, [*without(fleet, leaving), *joining])


class Fleet(Dialog):
    """A dialog about one runner or several."""

    @property
    def runners(self) -> list[Runner]:
        """Those it is about."""
        return self.row if isinstance(self.row, list) else [self.row]


class Approval(Fleet):
    """Whether somebody compared the fingerprints."""

    compared = forms.BooleanField(
        label="I have compared the fingerprint with the one the machine shows",
        widget=UnfoldBooleanSwitchWidget,
        error_messages={"required": "Compare the fingerprints first: anybody can register a key under any name."},
    )

    def effects(self) -> Iterable[object]:
        """Each key to compare, and what it could take at once."""
        for runner in self.runners:
            yield format_html("<strong>{}</strong><br>{}", runner.name, marks.fingerprint(runner.fingerprint))
        waiting = overview.kinds()
        fitting = sum(any(alone(runner).takes(kind.need) for runner in self.runners) for kind in waiting)
        if waiting:
            yield f"May take {fitting} of the {len(waiting)} kinds of work that wait now."


class Revocation(Sworn, Fleet):
    """Why a key ends, which jobs go back, and what nobody could judge any more."""

    def effects(self) -> Iterable[object]:
        """The jobs that go back to the queue."""
        held = Job.objects.filter(runner=self.row, state=JobState.RUNNING).select_related("lane__problem").order_by("claimed_at")
        jobs = list(held[: MOST_NAMED + 1])
        if not jobs:
            yield "It holds no job."
        for job in jobs[:MOST_NAMED]:
            yield format_html("Goes back to the queue: {} attempt {} {}", job.lane.problem.slug, job.attempt, marks.short(job.id))
        if len(jobs) > MOST_NAMED:
            yield "… and more."
        for lost in newly_stranded([alone(runner) for runner in self.runners], []):
            yield format_html('<span class="az-bad">No runner is left for waiting work:</span> {}', marks.need(lost))


class ChannelKeying(Reason):
    """Why a machine gets a key for the channel, and what becomes of the one it has."""

    def effects(self) -> Iterable[object]:
        """Whether there is one already."""
        if ChannelKey.objects.filter(runner=self.row).exists():
            yield "The key it has now is good no more: its connection is cut, and what it holds there goes back to the queue."


class ChannelNewcomer(PoolChoice, Reason):
    """What a machine is called that only ever speaks on the channel, what it judges, and for whom."""

    name = forms.CharField(max_length=128, widget=UnfoldAdminTextInputWidget)
    problem_types = forms.CharField(
        initial="standard-io@1", widget=UnfoldAdminTextInputWidget, help_text="Separated by commas.", max_length=1000
    )
    field_order = ("name", "problem_types")

    def worn(self) -> list[str]:
        """None yet."""
        return []

    def clean_problem_types(self) -> list[str]:
        """At least one."""
        types = [word.strip() for word in str(self.cleaned_data["problem_types"]).split(",") if word.strip()]
        if not types:
            raise forms.ValidationError("A runner judges at least one type of problem.")
        return types


class Forgetting(Reason):
    """Why a key is forgotten."""


class Retagging(PoolChoice, Reason, Fleet):
    """The pools of a runner or of several; with none at all it serves `default`."""

    def effects(self) -> Iterable[object]:
        """How many machines, what they hold, and how much of what waits they may take now."""
        held = Job.objects.filter(runner__in=[runner.id for runner in self.runners], state=JobState.RUNNING).count()
        yield f"{many(len(self.runners), 'runner')}; {many(held, 'job')} held now, to be finished first."
        waiting = overview.kinds()
        fitting = sum(any(alone(runner).takes(kind.need) for runner in self.runners) for kind in waiting)
        if waiting:
            yield f"With the pools of now they may take {fitting} of the {len(waiting)} kinds of work that wait."

    def worn(self) -> list[str]:
        """What all of them serve."""
        return [tag for tag in self.all_worn() if all(tag in runner.tags for runner in self.runners)]

    def all_worn(self) -> list[str]:
        """What any of them serves."""
        return sorted({tag for runner in self.runners for tag in runner.tags})

    def stranded(self, tags: list[str]) -> list[Need]:
        """By the fleet without these runners as they are and with them as they would be."""
        return newly_stranded([alone(runner) for runner in self.runners], [alone(runner, pools=tags) for runner in self.runners])
