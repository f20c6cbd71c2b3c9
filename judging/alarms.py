"""PURE: what on the dashboard needs a person, in order of how much."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from judging.text import many
from judging.trouble import Trouble

SWEEP_LATE = timedelta(minutes=2)
"""Cron sweeps every minute: two without one mean that neither it nor a server's ticker lives."""
AUDIT_LATE = timedelta(hours=2)
"""Cron audits every hour (README): two without one."""
LONG_WAIT = timedelta(minutes=10)


class Mend(StrEnum):
    """The page that mends it."""

    MAINTENANCE = "maintenance"
    RUNNERS = "runners"
    LANES = "lanes"
    JOBS = "jobs"
    LEDGER = "ledger"


@dataclass(frozen=True, slots=True)
class Alarm:
    """One thing to see to. `red` needs a person now; the rest is to be known. `filter` narrows the page down."""

    words: str
    mend: Mend
    red: bool = True
    filter: str = ""


@dataclass(frozen=True, slots=True)
class AuditFacts:
    """What audits have shown. `at` is the newest one's, None without any; `behind`: something was judged that it did not see.

    `diverged` tells of a divergence that no later audit has looked at and found mended, empty without one; `thread` is where.
    """

    at: datetime | None
    behind: bool
    diverged: str = ""
    thread: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the alarms are read from."""

    now: datetime
    level: str
    last_sweep_at: datetime | None
    pending: int
    paused_lanes: int
    stuck: tuple[str, ...]
    oldest: datetime | None
    overdue: int
    failed: int
    audit: AuditFacts
    external_waits: bool = False
    suspects: tuple[Trouble, ...] = ()


def alarms(facts: Facts) -> list[Alarm]:
    """Everything worth a line above the numbers, the red ones first."""
    return sorted([*_of_the_ledger(facts), *_of_the_fleet(facts), *_of_the_queue(facts)], key=lambda alarm: not alarm.red)


def _of_the_ledger(facts: Facts) -> Iterable[Alarm]:
    if facts.audit.diverged:
        where = f"q={facts.audit.thread}" if facts.audit.thread else ""
        yield Alarm(f"The ledger diverges: {facts.audit.diverged} After mending it: `manage.py audit`.", Mend.LEDGER, filter=where)
    if facts.audit.behind and (facts.audit.at is None or facts.now - facts.audit.at > AUDIT_LATE):
        words = "No audit has seen what was judged last. Is `manage.py audit --since-mark` in cron?"
        yield Alarm(words, Mend.LEDGER, red=False)


def _of_the_fleet(facts: Facts) -> Iterable[Alarm]:
    for words in facts.stuck:
        yield Alarm(words, Mend.RUNNERS)
    for each in facts.suspects:
        words = f"{each.name} brought no verdict for {each.failed} of its last {each.jobs} jobs: take it out of its pools?"
        yield Alarm(words, Mend.RUNNERS, red=False, filter=f"q={each.fingerprint[:16]}")
    if facts.pending:
        yield Alarm(f"{many(facts.pending, 'runner')} waiting for approval.", Mend.RUNNERS, red=False)


def _of_the_queue(facts: Facts) -> Iterable[Alarm]:
    if facts.last_sweep_at is None or facts.now - facts.last_sweep_at > SWEEP_LATE:
        yield Alarm("Nothing has swept the queue lately: lost jobs do not come back. Is `manage.py reap` in cron?", Mend.MAINTENANCE)
    if facts.external_waits:
        yield Alarm("Work for outside judges waits, and external judging is switched off.", Mend.MAINTENANCE)
    if facts.overdue:
        yield Alarm(f"{many(facts.overdue, 'lease')} over and not yet taken back.", Mend.JOBS, filter="state__exact=running")
    if facts.oldest is not None and facts.now - facts.oldest > LONG_WAIT:
        yield Alarm("Work has been waiting for more than ten minutes.", Mend.LANES)
    if facts.failed:
        yield Alarm(f"{many(facts.failed, 'job')} given up in the last hour.", Mend.JOBS, filter="state__exact=failed")
    if facts.level == "closed":
        yield Alarm("The installation is closed for maintenance.", Mend.MAINTENANCE)
    if facts.level == "draining":
        yield Alarm("The installation is draining: nothing is handed out.", Mend.MAINTENANCE, red=False)
    if facts.paused_lanes:
        yield Alarm(f"{many(facts.paused_lanes, 'lane')} paused with work waiting.", Mend.LANES, red=False)
