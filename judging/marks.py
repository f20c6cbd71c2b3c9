"""Small pieces of HTML that the operators' pages share. Everything handed in is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from uuid import UUID

from django.db.models import Model
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from judging.states import JobState
from judging.waiting import Need
from runners.models import RunnerState

NOTHING = mark_safe('<span class="az-faint">&ndash;</span>')
TONES = {
    JobState.QUEUED: "info",
    JobState.RUNNING: "busy",
    JobState.COMPLETED: "good",
    JobState.FAILED: "bad",
    JobState.CANCELLED: "off",
    JobState.SUPERSEDED: "off",
    RunnerState.PENDING: "warn",
    RunnerState.APPROVED: "good",
    RunnerState.REVOKED: "bad",
}


def badge(text: object, tone: str = "off") -> SafeString:
    """A word in a coloured box; the word alone says everything, the colour only helps."""
    return format_html('<span class="az-badge az-{}">{}</span>', tone, text)


def state_badge(state: str, label: str = "") -> SafeString:
    """The badge of a job's or a runner's state."""
    return badge(label or state, TONES.get(state, "off"))  # type: ignore[call-overload]


def moment(at: datetime | None) -> SafeString:
    """A time that the reader's browser shows in its own zone, with UTC on hover."""
    if at is None:
        return NOTHING
    utc = at.astimezone(UTC)
    return format_html(
        '<time class="az-time" datetime="{}" title="{} UTC">{} UTC</time>',
        utc.isoformat().replace("+00:00", "Z"),
        utc.strftime("%Y-%m-%d %H:%M:%S"),
        utc.strftime("%Y-%m-%d %H:%M"),
    )


def spoken(seconds: float) -> str:
    """A length of time in the two units that matter: 45 s, 3 min 20 s, 5 h 10 min, 3 d 4 h."""
    whole = max(0, int(seconds))
    for size, unit, rest, small in ((86_400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            more = whole % size // rest
            return f"{whole // size} {unit} {more} {small}" if more else f"{whole // size} {unit}"
    return f"{whole} s"


def span(start: datetime | None, end: datetime | None) -> str:
    """How long it was between two moments, or nothing when one is missing."""
    return spoken((end - start).total_seconds()) if start and end else ""


def countdown(until: datetime | None, now: datetime) -> SafeString:
    """What is left of a lease, counted down by the page: by length, so that a wrong local clock does not matter."""
    if until is None:
        return NOTHING
    left = int((until - now).total_seconds())
    return format_html('<span class="az-left" data-left="{}">{}</span>', left, spoken(left) if left > 0 else f"over by {spoken(-left)}")


def code(text: object) -> SafeString:
    """An id or another word that is compared rather than read."""
    return format_html('<code class="az-code">{}</code>', text)


def short(id_: UUID | str) -> SafeString:
    """An id by its last group, whole on hover and to be copied."""
    return format_html('<code class="az-code" title="{}">…{}</code>', id_, str(id_)[-12:])


def page_of(row: Model) -> str:
    """The address of a row's page."""
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[row.pk])


def link(row: Model | None, text: object = None) -> SafeString:
    """A row's name that leads to its page."""
    if row is None:
        return NOTHING
    return format_html('<a class="az-link" href="{}">{}</a>', page_of(row), row if text is None else text)


def pools(names: Iterable[str]) -> SafeString:
    """Pools, each in a box of its own."""
    return format_html_join(" ", '<span class="az-badge az-pool">{}</span>', ((name,) for name in names))


def fingerprint(hexadecimal: str) -> SafeString:
    """A fingerprint in groups of four, to be read aloud and compared."""
    groups = (hexadecimal[place : place + 4] for place in range(0, len(hexadecimal), 4))
    return format_html('<code class="az-fingerprint">{}</code>', format_html_join(" ", "<span>{}</span>", ((group,) for group in groups)))


def need(what: Need) -> SafeString:
    """What work asks of a runner: its type and flag, and its pools."""
    outside = badge("external", "warn") if what.external else ""
    return format_html("{} {} {}", code(what.problem_type), outside, pools(sorted(what.pools)))
