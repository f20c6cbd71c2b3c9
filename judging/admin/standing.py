"""What matters of a job in its state, in one cell of a list."""

from __future__ import annotations

from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

from judging import marks
from judging.states import Cause, JobState
from judging.waiting import URGENT


def standing(job: Any) -> SafeString:
    """What matters of a job in its state. `why` and `now` come with the row."""
    if job.state == JobState.QUEUED:
        first = next(iter(job.why), None)
        tone = "az-bad" if first and first.obstacle in URGENT else "az-faint"
        obstacle = format_html('<span class="{}" title="{}">{}</span>', tone, first.words, first.obstacle) if first else marks.NOTHING
        return format_html("{}<br>{}", obstacle, came_back(job)) if job.deliveries and job.reason else obstacle
    if job.state == JobState.RUNNING:
        return format_html("{} {}", marks.link(job.runner), marks.countdown(job.lease_until, job.now))
    if job.state == JobState.COMPLETED:
        return format_html("<strong>{}</strong>{}", job.result.verdict, " (voided)" if job.voided_at else "")
    tone = "az-bad" if job.state == JobState.FAILED else "az-faint"
    return format_html('<br><span class="{} az-cut" title="{}">{}</span>', tone, job.reason or "", essence(job.reason or ""))


def came_back(job: Any) -> SafeString:
    """Of a waiting job that was handed out before: how often, and why it was the last time."""
    words = "came back {} of {} times, last: {}"
    return format_html(
        '<span class="az-faint az-cut" title="{}">' + words + "</span>", job.reason, job.deliveries, job.cap, essence(job.reason)
    )


def essence(reason: str) -> str:
    """A reason from where it tells something: what every given-up job's begins with is said by its state and its hand-outs."""
    _, found, rest = reason.partition(" deliveries: ")
    return (rest if found else reason).removeprefix(f"{Cause.INFRASTRUCTURE}: ")
