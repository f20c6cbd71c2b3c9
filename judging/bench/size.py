"""How much is measured, and for how long."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Size:
    """`seconds` is how long one measurement of a rate lasts, `rounds` how many there are of each thing."""

    name: str
    depths: tuple[int, ...]
    clients: tuple[int, ...]
    times: int
    rounds: int
    seconds: float
    runners: int
    parked: tuple[int, ...]
    enqueued: int
    lapsed: int
    pairs: int
    threads: int
    past: int
    channels: tuple[int, ...]


SMALL = Size("small", (1_000,), (1, 8), 40, 3, 0.4, 8, (60,), 30, 120, 40, 100, 1_000, (60,))
MEDIUM = Size("medium", (1_000, 100_000), (1, 8, 32), 200, 5, 2.0, 50, (2_000,), 300, 10_000, 300, 10_000, 100_000, (1_000,))
FULL = Size(
    "full", (1_000, 100_000, 1_000_000), (1, 8, 32), 200, 5, 3.0, 50, (2_000, 10_000), 500, 10_000, 500, 10_000, 5_000_000, (1_000,)
)
SIZES = {size.name: size for size in (SMALL, MEDIUM, FULL)}
