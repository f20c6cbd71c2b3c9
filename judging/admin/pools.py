"""The pools in a dialog: those known as boxes to tick, new ones to write, and a warning of what would wait for ever."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.conf import settings
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminTextInputWidget, UnfoldBooleanSwitchWidget

from judging.admin.actions import Dialog
from judging.errors import Refusal
from judging.waiting import Need
from runners.models import Pool
from runners.tags import clean_tags

MOST_POOLS = 500


def pool_choices(worn: Iterable[str] = ()) -> list[tuple[str, str]]:
    """The pools to tick: those operators know, then others in use."""
    known = Pool.objects.values_list("name", flat=True)[:MOST_POOLS]
    return [(name, name) for name in dict.fromkeys([*known, *worn])]


class PoolChoice(Dialog):
    """Which pools. A subclass says which are `worn` now and what would be `stranded` by others."""

    pools = forms.MultipleChoiceField(label="Pools", required=False, widget=UnfoldAdminCheckboxSelectMultipleWidget)
    more = forms.CharField(
        label="New pools",
        required=False,
        widget=UnfoldAdminTextInputWidget({"placeholder": "lab-1, lab-2"}),
        help_text="Separated by commas.",
    )
    anyway = forms.BooleanField(
        label="Do it even if waiting work is left without a runner", required=False, widget=UnfoldBooleanSwitchWidget
    )

    def __init__(self, *given: Any, **about: Any) -> None:
        super().__init__(*given, **about)
        worn = self.worn()
        field: Any = self.fields["pools"]
        field.choices = pool_choices(self.all_worn())
        self.initial["pools"] = worn

    def worn(self) -> list[str]:
        """The pools ticked at first."""
        return list(self.row.pools)

    def all_worn(self) -> list[str]:
        """The pools to offer besides those that are known."""
        return self.worn()

    def stranded(self, tags: list[str]) -> list[Need]:
        """The waiting work that some runner may take now, and none could with these pools."""
        return []

    def clean(self) -> dict[str, Any]:
        """The tags as they would be kept. Refuses what strands waiting work until it is confirmed."""
        said: dict[str, Any] = super().clean() or {}
        written = [*said.get("pools", []), *str(said.get("more", "")).split(",")]
        try:
            tags = clean_tags(written, limits=settings.LIMITS)
        except Refusal as refusal:
            raise forms.ValidationError(f"{refusal.detail} ({refusal.code})") from refusal
        if not said.get("anyway"):
            for need in self.stranded(tags):
                self.add_error("anyway", f"No runner would be left for waiting {need.problem_type} in {', '.join(sorted(need.pools))}.")
        return said | {"tags": tags}
