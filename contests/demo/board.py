"""How the play looks: a table that lives on a terminal, a line for each change where the output is piped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.live import Live
from rich.table import Table

from contests.demo.play import Entry, name_of

COLUMNS = ("Submission", "Language", "Expected", "Got", "Attempt", "Deliveries", "Time")


class Board:
    """Tells the audience, on `console`."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None
        self._told: dict[str, tuple[str, ...]] = {}

    def say(self, text: str, *, style: str = "") -> None:
        """A line or more. Never wrapped, so that a pipe gets whole lines."""
        self._console.print(text, style=style or None, soft_wrap=True, markup=False, highlight=False)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """While the table lives."""
        if not self._console.is_terminal:
            yield
            return
        with Live(console=self._console, auto_refresh=False, transient=True) as self._live:
            yield
        self._live = None

    def show(self, entries: Sequence[Entry]) -> None:
        """What has changed since it was shown last."""
        news = [entry for entry in entries if self._told.get(entry.document["id"]) != cells(entry)]
        self._told |= {entry.document["id"]: cells(entry) for entry in news}
        if self._live is None:
            for entry in news:
                self.say(f"  {name_of(entry.solution)}: {progress(entry)}")
        elif news:
            self._live.update(table(entries), refresh=True)

    def verdicts(self, entries: Sequence[Entry]) -> None:
        """How they ended."""
        if self._console.is_terminal:
            self._console.print(table(entries))
        else:
            self.say("\n".join(lines([COLUMNS, *(cells(entry) for entry in entries)])))


def progress(entry: Entry) -> str:
    """Where a submission stands, in a few words."""
    if entry.state == "running":
        return f"judged by {entry.runner}"
    if entry.state == "queued" and entry.history and "ending" in entry.history[-1]:
        return "back in the queue"
    return entry.state if not entry.settled else mark(entry)


def mark(entry: Entry) -> str:
    """What it got; what it should not have got stands out without colours too."""
    got = entry.verdict or entry.state
    return got if entry.right else f"{got} (!)"


def cells(entry: Entry) -> tuple[str, ...]:
    """A row of the table."""
    solution = entry.solution
    took = f"{entry.seconds:.1f} s" if entry.seconds is not None else ""
    numbers = (str(entry.attempt["attempt"]), str(entry.attempt["deliveries"]))
    return (name_of(solution), solution.spoken_language, solution.verdict, progress(entry), *numbers, took)


def table(entries: Sequence[Entry]) -> Table:
    """All of them, in colours."""
    grid = Table(box=SIMPLE_HEAD)
    for name in COLUMNS:
        grid.add_column(name, justify="right" if name in COLUMNS[4:] else "left", no_wrap=True)
    for entry in entries:
        grid.add_row(*cells(entry), style=_style(entry))
    return grid


def _style(entry: Entry) -> str:
    if entry.settled:
        return "green" if entry.right else "bold red"
    return "yellow" if entry.state == "running" else "dim"


def lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of text in columns."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
