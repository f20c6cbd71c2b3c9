"""What a person at a terminal sees while jobs are judged, and how everything else is logged."""

from __future__ import annotations

import logging
import sys
from types import TracebackType

from rich.console import Console
from rich.logging import RichHandler
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from runners.agent.judgement import Progress as Tell

LINE = "%(asctime)s %(levelname)s %(message)s"


class Bars:
    """One progress bar a worker on a terminal; nothing elsewhere."""

    def __init__(self) -> None:
        self._progress: Progress | None = None
        if sys.stderr.isatty():
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("tests"), TimeElapsedColumn())
            self._progress = Progress(*columns, console=console(), transient=True)

    def __enter__(self) -> Bars:
        if self._progress:
            self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._progress:
            self._progress.stop()

    def row(self, number: int) -> Tell:
        """A bar of its own, shown while there is something to do."""
        progress = self._progress
        if progress is None:
            return lambda _done, _total: None
        task = progress.add_task(f"worker {number}", visible=False)

        def tell(done: int, total: int) -> None:
            if done == 0:
                progress.reset(task, total=total)
            progress.update(task, completed=done, total=total, visible=done < total)

        return tell


def console() -> Console:
    """The one console: bars and log lines must know of each other."""
    return _CONSOLE


_CONSOLE = Console(stderr=True)


def set_up_logging() -> None:
    """Lines on stderr, made for people on a terminal and for grep elsewhere. HTTP libraries only when something is wrong."""
    handler: logging.Handler = logging.StreamHandler()
    if sys.stderr.isatty():
        handler = RichHandler(console=console(), show_path=False)
        handler.setFormatter(logging.Formatter("%(message)s"))
    else:
        handler.setFormatter(logging.Formatter(LINE))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    for noisy in ("httpx", "httpcore"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
