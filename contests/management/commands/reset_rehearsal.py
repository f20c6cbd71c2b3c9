"""`manage.py reset_rehearsal SLUG`: start a rehearsal over."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from contests.models import Activity
from contests.retention import reset_rehearsal


class Command(BaseCommand):
    """Withdraws every submission of an activity; runners that still hold one are fenced off."""

    help = "Withdraw everything sent to an activity, so that its rehearsal starts over."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which activity, and that it is meant."""
        parser.add_argument("slug")
        parser.add_argument("--yes", action="store_true", help="do not ask")

    def handle(self, *, slug: str, yes: bool, **_: Any) -> None:
        """Ask, withdraw, and say how many."""
        activity = Activity.objects.filter(slug=slug).first()
        if activity is None:
            raise CommandError(f"There is no activity {slug!r}.")
        question = f"Withdraw every submission of “{activity.title}”? Their verdicts will not count. [y/N] "
        if not yes and not self._agreed(question):
            raise CommandError("Nothing was changed.")
        withdrawn = reset_rehearsal(activity.id, by="system", reason="rehearsal reset")
        self.stdout.write(f"{withdrawn} submissions withdrawn")

    def _agreed(self, question: str) -> bool:
        """Nobody at the keyboard does not agree."""
        try:
            return input(question).strip().lower() == "y"
        except EOFError:
            self.stdout.write("")
            return False
