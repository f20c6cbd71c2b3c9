"""What operators, participants and the clock do, at full size: a retag, a flood of submissions, ten thousand lapsed leases."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TypeVar
from uuid import UUID

from django.db import connection, connections

from judging import queue
from judging.audit import audit
from judging.bench import load
from judging.bench.measure import Client, Figure, Spread, at_once, in_turn, ratio
from judging.bench.scratch import direct
from judging.bench.server import Server, serving
from judging.bench.size import Size
from judging.bench.waits import CLAIM, Hall, submit_to
from judging.bench.wire import Wire
from judging.wake import Hub, Listener, attach, take_turns

_HOUR = timedelta(hours=1)
AUDITED_A_SECOND = 20_000.0
ELSEWHERE = 8
"""How often a lane is given to a pool of nobody first: the first time, a connection reads what tables there are."""
T = TypeVar("T")


def retag(address: str, size: Size) -> Iterator[Figure]:
    """Give a lane full of work to another pool while runners wait: the verb, and until who may take it has it."""
    parked, elsewhere = size.parked[0], "room-b"
    with direct(address) as straight, serving(address) as server:
        into, crew, chosen = load.library(lanes=1), load.machines(parked), load.machines(1, tags=[elsewhere])
        straight.execute("UPDATE judging_lane SET pools = '{nowhere}'")
        load.queued(straight, into, size.lapsed, lane_of=lambda _: into.lanes[0], begin=datetime.now(UTC))
        load.give_tokens(straight, [*crew, *chosen])
        verbs, until = asyncio.run(_rerouted(server, crew, chosen[0], into.lanes[0], elsewhere))
    verb = Spread.of([seconds * 1000 for seconds in verbs])
    yield Figure("retag", f"the verb, {size.lapsed:,} queued", "ms", verb, None, verb.median, most=10)
    yield _alone("retag", f"until its runner has the work, {parked:,} others parked", "s", until, most=1)


async def _rerouted(server: Server, crew: list[load.Machine], chosen: load.Machine, lane: UUID, pool: str) -> tuple[list[float], float]:
    """Seconds the verb took each time, to pools of nobody and then to this one; and from that commit until its runner had work."""
    hall = Hall()
    tasks = [asyncio.create_task(hall.wait(server.port, machine.token)) for machine in crew]
    wire = await Wire.open(server.port, chosen.token)
    waiting = asyncio.create_task(wire.post(CLAIM, b'{"waitSeconds":60}'))
    await asyncio.sleep(2 + len(crew) / 300)
    pools = [*(f"nobody-{place}" for place in range(ELSEWHERE)), pool]
    took = await asyncio.to_thread(_in_thread, lambda: [_clocked(partial(queue.reroute, [lane], pools=[to])) for to in pools])
    answer = await waiting
    assert json.loads(answer.body)["jobId"], "the runner was not handed what is its own now"
    until = time.monotonic() - took[-1][1]
    for one in (*hall.wires, wire):
        one.close()
    await asyncio.gather(*tasks)
    return [done - began for began, done in took], until


def enqueue(address: str, size: Size) -> Iterator[Figure]:
    """Submissions by eight clients of a server process, with the waking and without."""
    into = load.library(lanes=1)
    times = max(5, size.times // 8)

    @contextmanager
    def client() -> Iterator[Callable[[], object]]:
        yield lambda: submit_to(into)

    def waking() -> float:
        with _room(address):
            return at_once(client, clients=8, times=times)

    without, with_waking = in_turn(lambda: _unheard(client, times), waking, rounds=size.rounds)
    rates = [Spread(8 / one.median, 8 / one.high, 8 / one.low) for one in (with_waking, without)]
    yield Figure("enqueue", "8 clients, with waking against without", "/s", rates[0], rates[1], ratio(*rates), least=0.85)


class _Nobody:
    """A waiting room that nobody is in and nobody hears of."""

    def tell(self, events: object) -> bool:
        """Nothing to do."""
        return True


def _unheard(client: Client, times: int) -> float:
    attach(_Nobody())
    try:
        return at_once(client, clients=8, times=times)
    finally:
        attach(None)


@contextmanager
def _room(address: str) -> Iterator[None]:
    """A server process's waiting room with its listener, on a loop of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    before = sys.getswitchinterval()
    take_turns()
    hub = Hub(loop)
    listener = Listener(hub, lambda: {"conninfo": address})
    loop.call_soon_threadsafe(listener.start)
    attach(hub)
    try:
        yield
    finally:
        attach(None)
        asyncio.run_coroutine_threadsafe(listener.close(), loop).result(5)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)
        loop.close()
        sys.setswitchinterval(before)


def reaper(address: str, size: Size) -> Iterator[Figure]:
    """Sweep leases that lapsed together, as a server process does, while it claims; then an audit of what is left."""
    with direct(address) as straight, _room(address):
        into, crew = load.library(lanes=4), load.machines(2)
        claims_wanted = max(200, size.lapsed // 2)
        load.queued(straight, into, claims_wanted, lane_of=lambda place: into.lanes[place % 4], begin=datetime.now(UTC) - 2 * _HOUR)
        load.held(straight, into, size.lapsed, by=crew[1].id, begin=datetime.now(UTC) - _HOUR)
        # Before the sweep a claim finds work and leaves the lapsed leases alone, as it does during it.
        before = _claim_rate(crew[0].id, lambda count: count < claims_wanted // 4)
        swept: list[queue.Swept] = []
        sweeping = threading.Thread(target=_in_thread, args=(lambda: swept.append(queue.sweep()),), daemon=True)
        began = time.perf_counter()
        sweeping.start()
        during = _claim_rate(crew[0].id, lambda count: count < claims_wanted // 2 and sweeping.is_alive())
        sweeping.join()
        took = time.perf_counter() - began
    yield Figure("reaper", f"{swept[0].lapsed:,} lapsed leases", "s", Spread.of([took]), None, took, most=10, note=f"{swept[0]}")
    pace = [Spread.of([rate]) for rate in (during, before)]
    yield Figure("reaper", "claims meanwhile against before", "/s", pace[0], pace[1], ratio(*pace), least=0.7)
    # Of the processor's time and not the clock's: the target is one of a core, whoever else uses it.
    began = time.process_time()
    outcome = audit()
    rate = outcome.records / (time.process_time() - began)
    case = "the audit of it all, by processor time"
    yield Figure("reaper", case, "records/s", Spread.of([rate]), None, rate, least=AUDITED_A_SECOND, note=outcome.words)


def _claim_rate(runner: UUID, goes_on: Callable[[int], bool]) -> float:
    """Claims a second for as long as it goes on."""
    began, count = time.perf_counter(), 0
    while goes_on(count):
        assert isinstance(queue.claim(runner), queue.ClaimedJob), "the queue ran dry"
        count += 1
    return count / (time.perf_counter() - began)


def _clocked(act: Callable[[], object]) -> tuple[float, float]:
    """When a verb began and when it was done, on a connection that was there already."""
    connection.ensure_connection()
    began = time.monotonic()
    act()
    return began, time.monotonic()


def _in_thread(act: Callable[[], T]) -> T:
    """A verb in a thread that ends: its connection ends with it."""
    try:
        return act()
    finally:
        connections.close_all()


def _alone(scenario: str, case: str, unit: str, value: float, *, most: float) -> Figure:
    return Figure(scenario, case, unit, Spread.of([value]), None, value, most=most)
