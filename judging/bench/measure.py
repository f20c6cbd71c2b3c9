"""Figures, their spread, and two things measured in turn so that a busy machine is busy for both."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from django.db import connections

Client = Callable[[], AbstractContextManager[Callable[[], object]]]
"""A client's life: entered once, then what it yields is done again and again."""

WARM = 6


@dataclass(frozen=True, slots=True)
class Spread:
    """Several measurements of one thing: their median, and the lowest and the highest."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """The spread of at least one value."""
        return cls(statistics.median(values), min(values), max(values))


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the results.

    `ours` and `floor` are in `unit`; `ratio` compares them as the target does, and without a floor is what was
    measured itself. `most` or `least` is the target, None where there is none: then the figure is only told.
    """

    scenario: str
    case: str
    unit: str
    ours: Spread
    floor: Spread | None
    ratio: float
    most: float | None = None
    least: float | None = None
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None without one."""
        if self.most is None and self.least is None:
            return None
        return (self.most is None or self.ratio <= self.most) and (self.least is None or self.ratio >= self.least)

    def document(self) -> dict[str, Any]:
        """The figure as JSON has it."""
        sides = {name: [side.median, side.low, side.high] for name, side in (("ours", self.ours), ("floor", self.floor)) if side}
        said = {name: getattr(self, name) for name in ("scenario", "case", "unit", "ratio", "most", "least", "met", "note")}
        return {**said, **sides}


def in_turn(*sides: Callable[[], float], rounds: int) -> list[Spread]:
    """Measure each side once a round; the order turns round every time. The spread of each side."""
    values: list[list[float]] = [[] for _ in sides]
    places = list(range(len(sides)))
    for number in range(rounds):
        for place in places if number % 2 == 0 else reversed(places):
            values[place].append(sides[place]())
    return [Spread.of(side) for side in values]


def ratio(over: Spread, under: Spread) -> float:
    """How often the one goes into the other; infinite when that is nothing."""
    return over.median / under.median if under.median else float("inf")


def at_once(client: Client, *, clients: int, times: int) -> float:
    """Seconds an act takes each of so many clients, each doing it `times` times in a thread of its own.

    Each thread enters `client` and does it WARM times before the clock starts: a new connection plans its first
    statements. What a client raises is raised.
    """
    ready = threading.Barrier(clients + 1)
    failed: list[BaseException] = []
    threads = [threading.Thread(target=_work, args=(client, times, ready, failed), daemon=True) for _ in range(clients)]
    for thread in threads:
        thread.start()
    try:
        ready.wait()
        began = time.perf_counter()
    except threading.BrokenBarrierError:
        began = 0.0
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return (time.perf_counter() - began) / times


def _work(client: Client, times: int, ready: threading.Barrier, failed: list[BaseException]) -> None:
    """One client's thread. What it raises is kept, and nobody waits for it."""
    try:
        with client() as act:
            for _ in range(WARM):
                act()
            ready.wait()
            for _ in range(times):
                act()
    except BaseException as error:
        failed.append(error)
        ready.abort()
    finally:
        connections.close_all()


def percentile(values: Sequence[float], percent: float) -> float:
    """The value below which that many percent lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]
