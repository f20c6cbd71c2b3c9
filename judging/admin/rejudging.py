"""What a rejudge asks, wherever it is started."""

from __future__ import annotations

from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminRadioSelectWidget

from judging.admin.actions import Reason

ORDINARY, URGENT = "ordinary", "urgent"


class Rejudge(Reason):
    """Why it is judged again, and how soon."""

    mode = forms.ChoiceField(
        label="How soon",
        choices=[
            (ORDINARY, "Ordinary: after everything that waits for its first verdict"),
            (URGENT, "Urgent: before everything else; replaces what waits in its thread"),
        ],
        initial=ORDINARY,
        widget=UnfoldAdminRadioSelectWidget,
    )

    def clean(self) -> dict[str, Any]:
        """The mode as the verb takes it."""
        said: dict[str, Any] = super().clean() or {}
        return said | {"urgent": said.get("mode") == URGENT}
