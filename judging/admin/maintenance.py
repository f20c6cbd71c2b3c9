"""Maintenance: how far the doors are open, what still runs, and the switch of external judging."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from unfold.enums import ActionVariant

from judging import overview, queue
from judging.admin.actions import Reason, Said, act, offered
from judging.admin.pages import Watched
from judging.marks import spoken
from judging.models import Installation, Job, Maintenance
from judging.states import JobState
from judging.text import many
from runners.clock import Clock

MAINTAIN = "judging.maintain_installation"


class Draining(Reason):
    """Why the installation drains or closes, and what still runs."""

    def effects(self) -> Iterable[object]:
        """What is held now."""
        held = overview.counts().running
        yield f"{many(held, 'job')} still held by runners."
        yield f"It closes by itself when nothing runs, or after {spoken(settings.LIMITS.drain.total_seconds())}."


class Sweeping(Reason):
    """Why somebody sweeps by hand, and what there is to do."""

    def effects(self) -> Iterable[object]:
        """The leases that are over."""
        over = Job.objects.filter(state=JobState.RUNNING, lease_until__lte=Clock()).count()
        yield f"{many(over, 'lease')} over and not yet taken back."
        yield "If nothing has swept for minutes, neither cron nor a server's ticker lives: this sweeps once, it does not mend that."


def _is(*levels: Maintenance) -> Any:
    return lambda row: row.level in levels


def _external_off(row: Installation) -> bool:
    return not row.external_judging


def _external_on(row: Installation) -> bool:
    return row.external_judging


@admin.register(Installation)
class InstallationPages(Watched):
    """One page about one row."""

    actions_list = ["drain", "close", "reopen", "external_on", "external_off", "sweep_now"]

    def subject(self, request: HttpRequest) -> Installation:
        """The installation, as it stands."""
        return Installation.read()

    def get_actions_list(self, request: HttpRequest) -> list[Any]:
        """The switches that would change something."""
        return offered(super().get_actions_list(request), request, Installation.read())

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The installation's page, in the place of a list of one."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        context = {
            **self.admin_site.each_context(request),
            "title": "Maintenance",
            "opts": self.opts,
            "installation": Installation.read(),
            "counts": overview.counts(),
            "drain": settings.LIMITS.drain.total_seconds(),
            "actions_list": self._get_actions_navigation(self.actions_list, self.get_actions_list(request)),
        }
        return TemplateResponse(request, "operators/maintenance.html", context)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The same page."""
        return self.changelist_view(request, extra_context)

    @act(
        "Drain",
        permission=MAINTAIN,
        text="No more work is handed out. Runners finish and report what they hold; people and new runners are turned away.",
        submit="Start draining",
        form=Draining,
        icon="water_drop",
        variant=ActionVariant.WARNING,
        fits=_is(Maintenance.OPEN),
        then="changelist",
    )
    def drain(self, request: HttpRequest, row: Installation, said: Said) -> str:
        """Hand nothing out any more."""
        queue.switch_maintenance(Maintenance.DRAINING, reason=said["reason"])
        return "Draining: nothing more is handed out."

    @act(
        "Close",
        permission=MAINTAIN,
        text="Every door but this site and the health check answers 503, also to runners that hold jobs.",
        submit="Close now",
        form=Draining,
        icon="lock",
        variant=ActionVariant.DANGER,
        fits=_is(Maintenance.OPEN, Maintenance.DRAINING),
        then="changelist",
    )
    def close(self, request: HttpRequest, row: Installation, said: Said) -> str:
        """Close every door."""
        queue.switch_maintenance(Maintenance.CLOSED, reason=said["reason"])
        return "Closed."

    @act(
        "Reopen",
        permission=MAINTAIN,
        text="Work is handed out again, and everybody may come in.",
        submit="Reopen",
        icon="lock_open",
        variant=ActionVariant.PRIMARY,
        fits=_is(Maintenance.DRAINING, Maintenance.CLOSED),
        then="changelist",
    )
    def reopen(self, request: HttpRequest, row: Installation, said: Said) -> str:
        """Open every door."""
        queue.switch_maintenance(Maintenance.OPEN, reason=said["reason"])
        return "Open."

    @act(
        "Sweep now",
        permission=MAINTAIN,
        text="What cron does every minute: leases that are over end, and their jobs come back.",
        submit="Sweep once",
        form=Sweeping,
        icon="cleaning_services",
        then="changelist",
    )
    def sweep_now(self, request: HttpRequest, row: Installation, said: Said) -> str:
        """Sweep once, as the cron line would."""
        return f"Swept: {queue.sweep()}."

    @act(
        "Switch external judging on",
        permission=MAINTAIN,
        text="External runners are given the work of external problems: sources leave the installation through them.",
        submit="Switch it on",
        icon="public",
        fits=_external_off,
        then="changelist",
    )
    def external_on(self, request: HttpRequest, row: Installation, said: Said) -> str:
        """Let external runners have work."""
        queue.switch_external(on=True)
        return "External judging is on."

    @act(
        "Switch external judging off",
        permission=MAINTAIN,
        text="External runners are given nothing more. What they hold goes on.",
        submit="Switch it off",
        icon="public_off",
        fits=_external_on,
        then="changelist",
    )
    def external_off(self, request: HttpRequest, row: Installation, said: Said) -> str:
        """Let external runners have nothing more."""
        queue.switch_external(on=False)
        return "External judging is off."
