"""`manage.py prune`: what retention removes. For cron, once a night."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand

from contests.retention import prune_activities
from judging.files import collect_unattached
from runners.handshake import drop_expired


class Command(BaseCommand):
    """One pass of retention; any number may run at once."""

    help = "Remove finished jobs of activities long over, expired secrets, and uploads nobody attached."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """How long to keep."""
        parser.add_argument(
            "--keep-days",
            type=float,
            help="days after an activity's end (default: as long as ASSIZE_TICKET_SECONDS says, which is 30 days)",
        )

    def handle(self, *, keep_days: float | None, **_: Any) -> None:
        """Prune, and say in one line what was removed."""
        keep = None if keep_days is None else timedelta(days=keep_days)
        jobs, secrets, files = prune_activities(keep=keep), drop_expired(), collect_unattached()
        self.stdout.write(f"{jobs} jobs, {secrets} expired secrets and {files} unattached files removed")
