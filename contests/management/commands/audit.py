"""`manage.py audit --activity SLUG`: prove one contest."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from contests.models import Activity, Assignment
from judging.audit import Scope
from judging.audit.telling import Unknown
from judging.management.commands.audit import Command as Audit
from judging.models import AuditScope


class Command(Audit):
    """The queue's own command, which knows lanes and threads, with a word for the lanes of an activity."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The queue's options, and the activity."""
        super().add_arguments(parser)
        parser.add_argument("--activity", metavar="SLUG", help="only this activity's lanes")

    def scope(self, options: Mapping[str, Any]) -> Scope:
        """The lanes of the activity, if one is named. Raises Unknown."""
        slug = options["activity"]
        if slug is None:
            return super().scope(options)
        if options["lane"] or options["thread"] or options["since_mark"]:
            raise Unknown("--activity goes with neither --thread, --lane nor --since-mark.")
        if not Activity.objects.filter(slug=slug).exists():
            raise Unknown(f"There is no activity {slug!r}.")
        lanes = Assignment.objects.filter(round__activity__slug=slug).values_list("lane", flat=True)
        return Scope(AuditScope.LANES, lanes=tuple(sorted(lanes)))
