"""The verbs in process, one client: what a submission, a claim, a renewal and a report cost, beside other queues.

A peer is measured when its package is installed; Assize does not depend on any.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar
from uuid import UUID

from judging import queue
from judging.bench import load
from judging.bench.measure import Figure, Spread, ratio
from judging.bench.peers import NOT_MEASURED, PEERS, installed, measured
from judging.bench.size import Size
from judging.bench.waits import submit_to

T = TypeVar("T")


@dataclass(slots=True)
class Clocked:
    """Seconds each verb took, by name."""

    spent: dict[str, list[float]] = field(default_factory=dict)

    def time(self, name: str, act: Callable[[], T]) -> T:
        """Do it and note how long it took."""
        began = time.perf_counter()
        done = act()
        self.spent.setdefault(name, []).append(time.perf_counter() - began)
        return done


def verbs(address: str, size: Size) -> Iterator[Figure]:
    """Each verb's median, then the peers."""
    into, runner, clock = load.library(lanes=4), load.machines(1)[0].id, Clocked()
    for _ in range(size.pairs):
        clock.time("submit", lambda: submit_to(into))
    for _ in range(size.pairs):
        _judge(runner, clock)
    for name, spent in clock.spent.items():
        milliseconds = Spread.of(sorted(one * 1000 for one in spent)[: max(1, len(spent) * 9 // 10)])
        yield Figure("verbs", name, "ms", milliseconds, None, milliseconds.median)
    ours = statistics.median(clock.spent["claim"]) + statistics.median(clock.spent["report"])
    for name, (_, least) in PEERS.items():
        if not installed(name):
            yield Figure("verbs", f"{name}: {NOT_MEASURED}", "", Spread(0, 0, 0), None, 0)
            continue
        theirs = measured(name, address, size.pairs, size.rounds)
        sides = Spread.of([1 / ours]), Spread.of([1 / one for one in theirs])
        yield Figure("verbs", f"jobs taken and finished, against {name}", "/s", *sides, ratio(*sides), least=least)


def _judge(runner: UUID, clock: Clocked) -> None:
    job = clock.time("claim", lambda: queue.claim(runner))
    assert isinstance(job, queue.ClaimedJob), "the queue ran dry"
    row, said = job.row, queue.Report(verdict="Accepted", score=1.0, max_score=1.0)
    clock.time("renew", lambda: queue.renew(row.id, token=row.token, runner=runner, lease_seconds=900))
    clock.time("report", lambda: queue.report(row.id, said, token=row.token, runner=runner))
