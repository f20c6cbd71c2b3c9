"""The dialog that takes a list of participants in: first every line and every fault, then all or none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib import admin
from django.utils.html import format_html, format_html_join
from unfold.widgets import UnfoldAdminFileFieldWidget, UnfoldAdminTextareaWidget, UnfoldBooleanSwitchWidget

from contests import roster
from contests.roster import MOST_LINES, Line
from judging import marks
from judging.admin.actions import Reason
from judging.legible import decode

MOST_BYTES = 1024 * 1024
SEEN = "seen"
MOST_SHOWN = 300


class Roster(Reason):
    """A table, written or from a file; what it would do; and the word to do it."""

    table = forms.CharField(
        label="Table",
        required=False,
        strip=False,
        widget=UnfoldAdminTextareaWidget(
            {"rows": 6, "class": "az-json", "spellcheck": "false", "placeholder": "team-1, Blue Team, blue-password"}
        ),
    )
    file = forms.FileField(label="Or a CSV file", required=False, widget=UnfoldAdminFileFieldWidget)
    sure = forms.BooleanField(label="I have seen every line: take them in", required=False, widget=UnfoldBooleanSwitchWidget)
    seen = forms.CharField(required=False, widget=forms.HiddenInput)
    data: Any
    field_order = ("table", "file", "reason", "sure")

    def __init__(self, *given: Any, **about: Any) -> None:
        super().__init__(*given, **about)
        self.lines: list[Line] = []

    def effects(self) -> Iterable[object]:
        """Every line as it was read, those with faults first."""
        if not self.lines:
            return
        ordered = sorted(self.lines, key=lambda line: not line.faults)
        rows = ((line.number, line.login, line.name, _judgement(line)) for line in ordered[:MOST_SHOWN])
        table = format_html_join("", "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>", rows)
        yield format_html('<div class="az-scroll"><table class="az-table">{}</table></div>', table)
        if len(ordered) > MOST_SHOWN:
            yield f"… and {len(ordered) - MOST_SHOWN} more lines without a fault."

    def clean(self) -> dict[str, Any]:
        """The lines. Refuses while one has a fault, and until they were seen."""
        said: dict[str, Any] = super().clean() or {}
        self.lines = roster.read(self._text(said))
        roster.check(self.row.id, self.lines, only=admin.site.organization(self.request))  # type: ignore[attr-defined]
        faulty = sum(bool(line.faults) for line in self.lines)
        if not self.lines:
            self.add_error("table", "There is no line in it.")
        elif len(self.lines) > MOST_LINES:
            self.add_error("table", f"At most {MOST_LINES} lines at once.")
        elif faulty:
            self.add_error("table", f"{faulty} of {len(self.lines)} lines cannot be taken in. Nothing was kept.")
        elif not said.get("sure") or self._was_another(said):
            self.add_error("sure", "Look at the lines above, then tick this.")
        self.data = self.data.copy()
        self.data[SEEN] = roster.mark_of(self.lines)
        return said | {"lines": self.lines}

    def _was_another(self, said: dict[str, Any]) -> bool:
        """Whether the lines that were shown were others. A program that posts no mark was shown none."""
        return SEEN in self.data and said.get(SEEN) != roster.mark_of(self.lines)

    def _text(self, said: dict[str, Any]) -> str:
        """What was written, or the file, whose text is put into the table to be seen and sent again."""
        file = said.get("file")
        if file is None:
            return str(said.get("table") or "")
        if file.size > MOST_BYTES:
            self.add_error("file", "At most a mebibyte.")
            return ""
        text, _, _ = decode(file.read())
        self.data = self.data.copy()
        self.data["table"] = text
        return text


def _judgement(line: Line) -> object:
    if not line.faults:
        return format_html('<span class="az-faint">{}</span>', line.note)
    return format_html('<span class="az-bad">{}</span>{}', "; ".join(line.faults), marks.badge(f"line {line.number}", "bad"))
