"""Dialogs that are confirmed as they were seen: what changed while one was read is shown again instead of done."""

from __future__ import annotations

from typing import Any

from django import forms

from judging.admin.actions import Dialog

CHANGED = "This changed since you saw it. It is shown as it is now: look again."


class Seen(Dialog):
    """What the dialog showed travels with it as a mark. A program that posts none has seen nothing, and is not asked."""

    seen = forms.CharField(required=False, max_length=100, widget=forms.HiddenInput)

    def __init__(self, *given: Any, **about: Any) -> None:
        super().__init__(*given, **about)
        self.initial["seen"] = self.mark() if self.data == {} else ""

    def mark(self) -> str:
        """By which one state of what is shown is told from another."""
        raise NotImplementedError

    def clean(self) -> dict[str, Any]:
        """Refuses what was seen otherwise, with the mark of what is shown now."""
        said: dict[str, Any] = super().clean() or {}
        if said.get("seen") and said["seen"] != (now := self.mark()):
            self.add_error(None, CHANGED)
            self.data: Any = self.data.copy()
            self.data["seen"] = now
        return said
