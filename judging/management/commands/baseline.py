"""`manage.py baseline`: let jobs that were there before the ledger enter it."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from judging.baseline import baseline


class Command(BaseCommand):
    """For after an import that brought jobs without a history; safe to run again."""

    help = "Write a baseline record for every job that the ledger does not tell of."

    def handle(self, **_: Any) -> None:
        """Write them and say how many."""
        self.stdout.write(f"{baseline()} jobs entered the ledger as they stand")
