"""What a claim costs as the queue grows, whatever stands before the work one may take, against the floor.

The floor is what any queue on PostgreSQL pays: a bare SKIP LOCKED pick on one partial index, and the update of the
picked row. `pick` is our choice of a thread and the same update of its row; `claim` is the whole verb, of which
`statements` is the part spent in the database.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from django.db import connection

from judging import queue
from judging.bench import floor
from judging.bench.measure import WARM, Client, Figure, Spread, at_once, in_turn, ratio
from judging.bench.scratch import direct
from judging.bench.size import Size
from judging.bench.stage import CASES, Stage, set_up

PICK = """
UPDATE judging_thread t SET claimable = false, running = t.head WHERE t.id = (SELECT thread FROM judge_pick(%s, false)) RETURNING t.id
"""
CROWD_MOST = 1.7


def claims(address: str, size: Size) -> Iterator[Figure]:
    """Every case at every depth with every number of clients."""
    for depth in size.depths:
        with direct(address) as straight:
            stage = set_up(address, straight, depth)
            for name, (prepare, most) in CASES.items():
                with prepare(stage):
                    for clients in size.clients:
                        target = most if clients <= 8 else max(most, CROWD_MOST)
                        yield from _figures(stage, f"{depth:,} queued, {name}, {clients} clients", clients, target, size)
                stage.tidy()


def _figures(stage: Stage, case: str, clients: int, most: float, size: Size) -> Iterator[Figure]:
    times = max(5, min(size.times, stage.depth // 20) // clients)
    spent: list[float] = []
    statements: list[float] = []

    def taking(statement: str, *, whose: bool) -> float:
        took = at_once(_straight(stage, statement, whose=whose), clients=clients, times=times)
        stage.put_back()
        return took * 1000

    def claiming() -> float:
        spent.clear()
        took = at_once(lambda: _claimer(stage, spent), clients=clients, times=times)
        statements.append(sum(spent) / clients / (WARM + times) * 1000)
        stage.restock(clients * (WARM + times))
        return took * 1000

    bare, pick, claim = in_turn(lambda: taking(floor.FLOOR, whose=False), lambda: taking(PICK, whose=True), claiming, rounds=size.rounds)
    figure = Figure("claims", f"{case}: pick", "ms", pick, bare, ratio(pick, bare), most=most)
    inside = Spread.of(statements)
    yield figure
    yield replace(figure, case=f"{case}: statements", ours=inside, ratio=ratio(inside, bare), most=None)
    yield replace(figure, case=f"{case}: claim", ours=claim, ratio=ratio(claim, bare), most=None)


def _straight(stage: Stage, statement: str, *, whose: bool) -> Client:
    """A client with a connection of its own that runs one prepared statement, which must find something.

    `whose`: the statement is told which runner asks.
    """

    @contextmanager
    def client() -> Iterator[Callable[[], object]]:
        values = [next(stage.crew)] if whose else []
        with direct(stage.address) as mine:

            def act() -> None:
                assert mine.execute(statement, values, prepare=True).fetchone() is not None, "the queue ran dry"

            yield act

    return client


@contextmanager
def _claimer(stage: Stage, spent: list[float]) -> Iterator[Callable[[], object]]:
    """A client that claims by the verb; adds the seconds its statements took to `spent`."""

    def timed(execute: Callable[..., Any], *args: Any) -> Any:
        began = time.perf_counter()
        try:
            return execute(*args)
        finally:
            spent.append(time.perf_counter() - began)

    runner = next(stage.crew)

    def act() -> None:
        assert isinstance(queue.claim(runner), queue.ClaimedJob), "the queue ran dry"

    connection.ensure_connection()
    with connection.execute_wrapper(timed):
        yield act
