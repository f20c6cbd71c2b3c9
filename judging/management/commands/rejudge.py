"""`manage.py rejudge`: works live rejudgings off, for cron where no server runs, or for who will not wait for its sweeps."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, InterfaceError

from judging import queue
from judging.errors import Refusal


class Command(BaseCommand):
    """Opens what can be opened now. Any number may run, and each may be stopped anywhere."""

    help = "Open the attempts that rejudgings of many submissions still want. Every sweep does some; this does all."
    requires_system_checks = []

    def handle(self, *_: Any, **__: Any) -> None:
        """Chunk by chunk until there is nothing to do now."""
        total = 0
        try:
            while done := queue.work_off():
                total += done
        except (Refusal, DatabaseError, InterfaceError) as error:
            raise CommandError(f"After {total} attempts the database could not be asked: {error}") from error
        self.stdout.write(f"{total} attempts of rejudgings opened or ended")
