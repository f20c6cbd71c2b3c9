"""The dialog that publishes final results, and the line that says what was published."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from django.conf import settings
from django.utils.html import format_html
from django.utils.safestring import SafeString

from contests import publishing
from contests.models import Activity
from contests.publishing import Readiness
from judging import marks
from judging.admin.actions import Reason
from judging.admin.seeing import Seen
from judging.text import many


class Publishing(Seen, Reason):
    """Why they are final, beside what they rest on."""

    @cached_property
    def ready(self) -> Readiness:
        """What they rest on, asked once."""
        return publishing.readiness(self.row)

    def mark(self) -> str:
        """The sum of what would be published."""
        return self.ready.sum

    def effects(self) -> Iterator[object]:
        """How much was judged, what is still open, and when the ledger was audited last."""
        ready = self.ready
        yield f"{many(ready.judged, 'submission')} with a result, {ready.unjudged} without."
        yield f"{many(ready.open, 'attempt')} still open." if ready.open else "Nothing is open."
        yield from _audited(ready)


def _audited(ready: Readiness) -> Iterator[object]:
    last = ready.last_audit
    if last is None:
        yield "The ledger was never audited."
    else:
        yield format_html("The last audit was {}: {}.", marks.moment(last.at), last.get_result_display())
    if ready.proof is None:
        must = "first" if settings.PUBLISH_PROVED else "to prove them"
        yield f"No audit that was equal has seen the last judgement: run {ready.command} {must}."


def latest(activity: Activity) -> SafeString:
    """The newest publication with whether it still is what counts."""
    row = publishing.newest(activity)
    if row is None:
        return marks.NOTHING
    return format_html("{} {} {}", marks.link(row, f"number {row.number}"), marks.moment(row.at), standing(publishing.superseded(row)))


def standing(words: str) -> SafeString:
    """A mark for a publication: the newest, or superseded and by what."""
    return marks.badge(words or "counts", "warn" if words else "good")
