"""The threads of a server process: few, fixed, and apart, so that slow work of one kind cannot starve another's."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import connections
from django.utils.module_loading import import_string

logger = logging.getLogger(__name__)

RUNNER_PREFIXES = ("/api/v1/runner/", "/api/v1/health")
FILES_PREFIXES = ("/api/v1/runner/files", "/v2/")

# Each thread may hold one connection while it works; settings.FRONT_THREADS says how many there are of each kind.
THREADS = ("calls", "again", "files", "pages", "ticks")


@dataclass(frozen=True, slots=True)
class Pools:
    """`calls` claims, renews and reports; `again` looks nobody asked for; `files` streams; `pages` all else."""

    calls: ThreadPoolExecutor
    again: ThreadPoolExecutor
    files: ThreadPoolExecutor
    pages: ThreadPoolExecutor
    ticks: ThreadPoolExecutor

    @classmethod
    def start(cls) -> Pools:
        """The pools in the sizes of settings.FRONT_THREADS."""
        sizes = settings.FRONT_THREADS
        return cls(**{name: ThreadPoolExecutor(sizes[name], thread_name_prefix=name) for name in THREADS})

    def of(self, path: str) -> ThreadPoolExecutor:
        """Where a request for this path runs."""
        if path.startswith(FILES_PREFIXES):
            return self.files
        return self.calls if path.startswith(RUNNER_PREFIXES) else self.pages

    def stop(self) -> None:
        """Begin nothing more."""
        for pool in (self.calls, self.again, self.files, self.pages, self.ticks):
            pool.shutdown(wait=False, cancel_futures=True)


def run_verb(path: str, *args: Any, **kwargs: Any) -> None:
    """Call a verb of the core outside any request, in a pool thread. What fails is logged, never raised."""
    try:
        verb: Callable[..., Any] = import_string(path)
        verb(*args, **kwargs)
    except Exception:
        logger.exception("%s failed", path)
    finally:
        # No request ends here, so nothing else gives the thread's connection back to the pool.
        connections.close_all()
