"""The dialogs that set machines apart for an activity and give them back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django import forms
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminTextInputWidget, UnfoldBooleanSwitchWidget

from contests.models import Activity, Reservation, ReservedRunner
from judging import overview
from judging.admin.actions import Reason
from judging.admin.fleet import alone
from judging.models import Lane
from judging.waiting import Need, stranded, strength, without
from runners.models import Runner, RunnerState

MOST_MACHINES = 500


def has_room(row: Activity) -> bool:
    """Whether machines are set apart for it."""
    return Reservation.objects.filter(activity=row.pk).exists()


def has_no_room(row: Activity) -> bool:
    """The contrary."""
    return not has_room(row)


class Room(Reason):
    """Which machines, under which name, and who else would then wait for ever."""

    pool = forms.CharField(label="Name of the room", max_length=64, widget=UnfoldAdminTextInputWidget, help_text="A pool of its own.")
    runners = forms.TypedMultipleChoiceField(label="Machines", coerce=UUID, widget=UnfoldAdminCheckboxSelectMultipleWidget)
    anyway = forms.BooleanField(
        label="Do it even if waiting work is left without a runner", required=False, widget=UnfoldBooleanSwitchWidget
    )
    field_order = ("pool", "runners", "reason", "anyway")

    def __init__(self, *given: Any, **about: Any) -> None:
        super().__init__(*given, **about)
        self.initial["pool"] = f"room-{self.row.slug.lower()}"[:64]
        taken = ReservedRunner.objects.values("runner")
        free = Runner.objects.filter(state=RunnerState.APPROVED).exclude(id__in=taken).order_by("name", "id")
        self.machines = {row.id: row for row in free[:MOST_MACHINES]}
        field: Any = self.fields["runners"]
        field.choices = [(str(row.id), f"{row.name}: {', '.join(sorted(row.pools))}") for row in self.machines.values()]

    def effects(self) -> Iterable[object]:
        """What is not reserved with it."""
        own = self.row.rounds.exclude(pools=[]).count()
        if own:
            yield f"Rounds with pools of their own are not judged in the room: {own}."
        yield "A machine that holds a job finishes it first."

    def clean(self) -> dict[str, Any]:
        """Refuses a room in which its activity could not be judged, or for which others would wait, until it is confirmed."""
        said: dict[str, Any] = super().clean() or {}
        machines = [self.machines[id_] for id_ in said.get("runners", [])]
        if machines and not said.get("anyway"):
            pool = str(said.get("pool", "")).strip().lower()
            for need in self._without_runner(machines, pool):
                self.add_error("anyway", f"No runner would be left for {need.problem_type} in {', '.join(sorted(need.pools))}.")
        return said

    def _without_runner(self, machines: list[Runner], pool: str) -> list[Need]:
        fleet = overview.squads()
        after = [*without(fleet, [alone(each) for each in machines]), *(alone(each, pools=[pool]) for each in machines)]
        mine = Lane.objects.filter(assignment__round__activity=self.row, assignment__round__pools=[])
        own = {Need(lane.problem_type, lane.external, frozenset({pool})) for lane in mine}
        waiting = Lane.objects.filter(active=True, threads__claimable=True).exclude(id__in=mine.values("id")).distinct()
        others = {Need(lane.problem_type, lane.external, frozenset(lane.pools)) for lane in waiting}
        return stranded([*own, *(need for need in others if strength(need, fleet).approved)], after)


class GivingBack(Reason):
    """What is put back."""

    def effects(self) -> Iterable[object]:
        """The machines with the pools they get back."""
        reservation = Reservation.objects.filter(activity=self.row).first()
        if reservation is None:
            return
        kept = {each.runner: each.tags_before for each in reservation.runners.all()}
        for runner in Runner.objects.filter(id__in=kept).order_by("name", "id"):
            yield f"{runner.name}: {', '.join(kept[runner.id]) or 'default'}"
        yield f"The activity: {', '.join(reservation.pools_before) or 'default'}"
