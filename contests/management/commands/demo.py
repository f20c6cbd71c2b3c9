"""`manage.py demo`: a whole contest on one machine, from an empty folder."""

from __future__ import annotations

import logging
import shutil
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from rich.console import Console

from contests.demo.board import Board
from contests.demo.caller import Unexpected
from contests.demo.cast import Cast, alone_in, free_port
from contests.demo.processes import Died
from contests.demo.seed import NotHere
from contests.demo.show import Show

USUAL_PORT = 8000


class Command(BaseCommand):
    """Exit codes: 0 when everything came out as expected, 1 when it did not, 130 after Ctrl-C before the end."""

    help = "Try Assize out: a small contest, a server, two runners, and programs that earn every verdict."
    # Some checks ask the database, which is empty before this command migrates it.
    requires_system_checks: tuple[str, ...] = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """`--data` and `--reset` are settled before Django begins (config/launch.py), but for the runners' files."""
        parser.add_argument("--exit", action="store_true", help="stop everything at the end instead of serving on")
        parser.add_argument("--no-runners", action="store_true", help="only make the contest and serve it")
        parser.add_argument("--transport", choices=("rest", "channel"), default="rest", help="how the runners talk to the server")
        parser.add_argument("--port", type=int, help=f"port on 127.0.0.1 ({USUAL_PORT}, or the next free one)")
        parser.add_argument("--data", metavar="DIR", help="where everything is kept (.data)")
        parser.add_argument("--reset", action="store_true", help="forget everything from earlier runs first")

    def handle(self, **options: Any) -> None:
        """Run the show."""
        # Each look at the API would be a line between the lines of the show.
        logging.getLogger("httpx").setLevel(logging.WARNING)
        board = Board(Console())
        folder = Path(settings.DATA_DIR) / "demo"
        try:
            with alone_in(folder):
                if options["reset"]:
                    forget(folder)
                port = free_port(options["port"], usual=USUAL_PORT)
                cast = Cast(port=port, folder=folder, say=board.say, transport=options["transport"])
                code = Show(cast, board).run(with_runners=not options["no_runners"], stay=not options["exit"])
        except (NotHere, Died, Unexpected) as trouble:
            raise CommandError(str(trouble)) from trouble
        if code:
            sys.exit(code)


def forget(folder: Path) -> None:
    """Remove the runners' keys, caches and logs of earlier demos."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != "lock":
            path.unlink()
