"""`manage.py reap`: the cron job that gives lost work back."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, InterfaceError

from judging import queue
from judging.errors import Refusal
from judging.files import collect_unattached

# An upload that was left is due a day after it came. Older ones were collected before, or are `prune`'s.
COLLECTED_WITHIN = timedelta(days=7)


class Command(BaseCommand):
    """Ends lapsed leases, takes back what revoked runners hold, removes forgotten uploads. Any number may run."""

    help = "Sweep the queue once: give lapsed leases back. For cron, every minute."
    # Once a minute; the checks are for deployments.
    requires_system_checks = []

    def handle(self, *_: Any, **__: Any) -> None:
        """One sweep, one line. Fails when the database cannot be asked, and when rows could not be swept."""
        try:
            swept = queue.sweep()
            collected = collect_unattached(looking_back=COLLECTED_WITHIN)
        except (Refusal, DatabaseError, InterfaceError) as error:
            raise CommandError(f"The queue could not be swept: {error}") from error
        self.stdout.write(f"{swept}, {collected} uploads collected")
        if swept.bad:
            raise CommandError(f"{swept.bad} rows could not be swept; the log says why.")
