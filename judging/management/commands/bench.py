"""`manage.py bench`: how fast this installation's server and machine let Assize be."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from judging.bench import tables
from judging.bench.scenarios import SCENARIOS, run
from judging.bench.size import SIZES


class Command(BaseCommand):
    """Measures in a database of its own on the configured server, which is dropped afterwards."""

    help = "Measure scenarios beside their floors and print the ratios. Needs the right to create a database."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        """Which scenarios, how large, where the JSON goes."""
        parser.add_argument("scenario", nargs="*", help=f"any of: {', '.join(SCENARIOS)}; all when none is named")
        parser.add_argument(
            "--small",
            dest="size",
            action="store_const",
            const="small",
            help="minutes: proves that it runs, no more",
        )
        parser.add_argument("--full", dest="size", action="store_const", const="full", help="a million jobs, ten thousand waits")
        parser.add_argument("--durable", action="store_true", help="let commits wait for the disk, as an installation's do")
        parser.add_argument("--json", dest="file", type=Path, metavar="FILE", help="write the figures there too")

    def handle(self, *_: Any, **options: Any) -> None:
        """Each scenario in turn; figures are printed as they come."""
        # Stopped like this, too, it drops its database and ends its servers.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        size, names = SIZES[options["size"] or "medium"], options["scenario"] or list(SCENARIOS)
        if unknown := set(names) - set(SCENARIOS):
            raise CommandError(f"No such scenario: {', '.join(sorted(unknown))}. There are: {', '.join(SCENARIOS)}.")
        self.stdout.write(tables.machine(durable=options["durable"]))
        figures = []
        for name in names:
            self.stdout.write(f"\n{name}: {SCENARIOS[name].sentence}")
            for figure in run(name, size, durable=options["durable"]):
                self.stdout.write(tables.line(figure))
                figures.append(figure)
        if options["file"]:
            options["file"].write_text(json.dumps(tables.document(figures, size, durable=options["durable"]), indent=1) + "\n")
