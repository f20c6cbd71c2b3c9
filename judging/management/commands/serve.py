"""`manage.py serve`: run the site."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from gunicorn.app.wsgiapp import WSGIApplication  # type: ignore[import-untyped]


class Command(BaseCommand):
    """Serves pages, programs and waiting runners from one command, as config/gunicorn.py says."""

    help = "Run the site (gunicorn with the configuration in config/gunicorn.py)."
    # Some checks query: the master's connection would then be shared by all the processes it forks.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What is given here overrides the configuration."""
        parser.add_argument("--port", type=int, help="port on 127.0.0.1")
        parser.add_argument("--bind", help="address:port, or unix:PATH")
        parser.add_argument("--workers", type=int, help="number of processes")

    def handle(self, *, port: int | None, bind: str | None, workers: int | None, **_: Any) -> None:
        """Become gunicorn's master process, which holds the embedded database for as long as it lives."""
        given = {"bind": bind or (f"127.0.0.1:{port}" if port else None), "workers": workers}
        Site({name: value for name, value in given.items() if value is not None}).run()


class Site(WSGIApplication):
    """gunicorn, told by a dictionary instead of by its own command line."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        super().__init__()

    def load_config(self) -> None:
        """Read the configuration file, then what was given."""
        self.load_config_from_file(str(Path(settings.BASE_DIR) / "config" / "gunicorn.py"))
        for name, value in self.given.items():
            self.cfg.set(name, value)
        self.app_uri = self.cfg.wsgi_app
        self.chdir()
