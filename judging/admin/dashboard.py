"""The dashboard: whether judging is healthy, at a glance. Its two live parts are fetched again by HTMX."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import path, reverse

from judging import overview, trouble
from judging.admin.charts import Chart, chart
from judging.alarms import Alarm, AuditFacts, Facts, Mend, alarms
from judging.audit import Shown, shown
from judging.models import Installation
from judging.overview import Counts, Kind
from judging.waiting import Obstacle, Place, Squad, Strength, obstacles, sentence, strength

SEE = "judging.view_job"
ROUTES = {
    Mend.MAINTENANCE: "admin:judging_installation_changelist",
    Mend.RUNNERS: "admin:runners_runner_changelist",
    Mend.LANES: "admin:judging_lane_changelist",
    Mend.JOBS: "admin:judging_job_changelist",
    Mend.LEDGER: "admin:judging_ledgerrecord_changelist",
}
_THREAD = re.compile(r"^thread ([0-9a-f-]{36})")
_TOLD = 300
STUCK = frozenset({Obstacle.NO_TYPE, Obstacle.NO_FLAG, Obstacle.NO_POOL, Obstacle.NONE_CONNECTED})


@dataclass(frozen=True, slots=True)
class Waits:
    """A kind of waiting work with who may judge it, and what keeps it."""

    kind: Kind
    able: Strength
    obstacle: Obstacle
    words: str


def callback(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """What the index shows, for those who may see jobs."""
    if not _may_see(request):
        return context | {"dashboard": False}
    return context | {"dashboard": True} | _live() | _tempo()


def live(request: HttpRequest) -> HttpResponse:
    """The part that is fetched every two seconds."""
    return _part(request, "operators/live.html", _live)


def tempo(request: HttpRequest) -> HttpResponse:
    """The charts, fetched less often: they read a whole hour."""
    return _part(request, "operators/tempo.html", _tempo)


def _may_see(request: HttpRequest) -> bool:
    """The numbers are of all organizations together: not for accounts that see one."""
    site: Any = admin.site
    return request.user.has_perm(SEE) and site.organization(request) is None


def _part(request: HttpRequest, template: str, facts: Any) -> HttpResponse:
    if not _may_see(request):
        raise PermissionDenied
    return TemplateResponse(request, template, facts())


def urls() -> list[Any]:
    """The addresses of the live parts, behind the site's login."""
    return [
        path("live/", admin.site.admin_view(live), name="live"),
        path("live/tempo/", admin.site.admin_view(tempo), name="live_tempo"),
    ]


def _live() -> dict[str, Any]:
    counts, switches, fleet, audits = overview.counts(), Installation.read(), overview.squads(), shown()
    waits = [_waits(kind, switches, fleet) for kind in overview.kinds()]
    running = overview.running()
    overdue = sum(job.lease_until is not None and job.lease_until <= counts.now for job in running)
    machines = trouble.lately()
    facts = replace(_facts(counts, switches, waits, overdue=overdue, audited=_audited(audits)), suspects=tuple(trouble.suspects(machines)))
    fleet_now = _total(fleet)
    return {
        "counts": counts,
        "installation": switches,
        "audit": audits.newest,
        "behind_audit": audits.behind,
        "waits": waits,
        "stuck": STUCK,
        "running": running,
        "behind": overview.behind_siblings(),
        "waiting": sum(wait.kind.depth for wait in waits),
        "waiting_more": any(wait.kind.more for wait in waits),
        "oldest": min((wait.kind.oldest for wait in waits), default=None),
        "fleet": fleet_now,
        "busy": fleet_now.connected - fleet_now.idle,
        "came_back": sum(each.came_back for each in machines),
        "alarms": [(alarm, _address(alarm)) for alarm in alarms(facts)],
    }


def _waits(kind: Kind, switches: Installation, fleet: tuple[Squad, ...]) -> Waits:
    place = Place(paused=kind.paused, level=switches.level, external_judging=switches.external_judging)
    first = obstacles(kind.need, place, fleet)[0]
    return Waits(kind, strength(kind.need, fleet), first, sentence(first, kind.need, fleet))


def _facts(counts: Counts, switches: Installation, waits: list[Waits], *, overdue: int, audited: AuditFacts) -> Facts:
    return Facts(
        now=counts.now,
        level=switches.level,
        last_sweep_at=switches.last_sweep_at,
        pending=counts.pending,
        paused_lanes=counts.paused_lanes,
        stuck=tuple(dict.fromkeys(wait.words for wait in waits if wait.obstacle in STUCK)),
        oldest=min((wait.kind.oldest for wait in waits), default=None),
        overdue=overdue,
        failed=counts.failed,
        audit=audited,
        external_waits=any(wait.obstacle is Obstacle.EXTERNAL_OFF for wait in waits),
    )


def _audited(audits: Shown) -> AuditFacts:
    words = audits.diverged.words if audits.diverged else ""
    at = audits.newest.at if audits.newest else None
    return AuditFacts(at, audits.behind, _shortened(words), next(iter(_THREAD.findall(words)), ""))


def _shortened(words: str) -> str:
    return words if len(words) <= _TOLD else f"{words[:_TOLD]}…"


def _total(fleet: tuple[Squad, ...]) -> Strength:
    names = ("approved", "connected", "idle", "pending")
    return Strength(**{name: sum(getattr(squad, name) for squad in fleet) for name in names})


def _address(alarm: Alarm) -> str:
    return reverse(ROUTES[alarm.mend]) + (f"?{alarm.filter}" if alarm.filter else "")


def _tempo() -> dict[str, Any]:
    minutes = overview.tempo()
    now = overview.counts().now
    judged: Chart = chart(now, {row.at: float(row.judged) for row in minutes})
    median: Chart = chart(now, {row.at: row.median for row in minutes}, {row.at: row.p95 for row in minutes})
    return {
        "judged": judged,
        "times": median,
        "judged_total": sum(row.judged for row in minutes),
        "failed_total": sum(row.failed for row in minutes),
        "worst": max((row.p95 for row in minutes if row.p95 is not None), default=None),
    }
