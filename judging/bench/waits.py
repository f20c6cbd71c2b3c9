"""Thousands of parked claims and work that trickles in: who hears of it, how soon, and what each waiting runner costs."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from django.db import connections

from judging import queue
from judging.bench import floor, load
from judging.bench.loaded import Library
from judging.bench.measure import Figure, Spread, percentile
from judging.bench.scratch import Connection, direct
from judging.bench.server import RAW, SITE, Server, end, serving
from judging.bench.size import Size
from judging.bench.wire import Wire
from judging.queue import NewSubmission, SourceFile
from judging.wake.topics import NOTIFY

CLAIM = "/api/v1/runner/jobs/claim"
WAIT = b'{"waitSeconds":300,"leaseSeconds":3600}'
_EVERY_SECONDS = 0.02
_LATE_SECONDS = 5.0
_TOGETHER = 200
TOGETHER_AGAIN = 2000
"""So many must be parked again within five seconds when a server was restarted."""
_LOOKS_A_SECOND = 200
"""No server here is slower; for the raw handler, which looks for nobody, it is only awaited."""
UNSEEN = "SELECT 1 FROM runners_runner WHERE last_seen_at IS NULL LIMIT 1"
OPEN = """
SELECT count(*), count(*) FILTER (WHERE state <> 'idle') FROM pg_stat_activity
WHERE datname = current_database() AND application_name LIKE 'assize%'
"""


@dataclass(slots=True)
class Hall:
    """Runners that wait, and who was told what when; times are of one clock for all processes, in seconds."""

    wires: list[Wire] = field(default_factory=list)
    told: dict[str, list[float]] = field(default_factory=dict)
    refused: int = 0

    async def wait(self, port: int, token: str) -> None:
        """One runner: waits, notes what it was handed, waits again; ends with its line."""
        wire = await Wire.open(port, token)
        self.wires.append(wire)
        try:
            while True:
                answer = await wire.post(CLAIM, WAIT)
                if answer.status == 200:
                    self.told.setdefault(json.loads(answer.body)["jobId"], []).append(time.monotonic())
                elif answer.status != 204:
                    self.refused += 1
                    return
        except ConnectionError:
            pass


@dataclass(frozen=True, slots=True)
class Heard:
    """What became of what was enqueued: seconds from the commit to the answer; what nobody and what two were told."""

    delays: list[float]
    lost: int
    doubled: int


def waits(address: str, size: Size) -> Iterator[Figure]:
    """For each number of parked runners: ours and the raw handler, one after the other, with the same trickle."""
    for parked in size.parked:
        yield from _parked(address, parked, size)


def _parked(address: str, parked: int, size: Size) -> Iterator[Figure]:
    with direct(address) as straight:
        into, crew = load.library(lanes=1), load.machines(parked)
        load.give_tokens(straight, crew)
        straight.execute(f"DROP TABLE IF EXISTS bench_floor; {floor.TABLE}")
        raw, _ = _measure(address, straight, crew, size, application=RAW, enqueue=lambda: _to_floor(straight))
        heard, facts = _measure(address, straight, crew, size, application=SITE, enqueue=lambda: submit_to(into))
    yield from _figures(parked, raw, heard, facts)


def _figures(parked: int, raw: Heard, heard: Heard, facts: dict[str, float]) -> Iterator[Figure]:
    for percent, most in ((50, 2.0), (99, 3.0)):
        ours, bare = percentile(heard.delays, percent) * 1000, percentile(raw.delays, percent) * 1000
        case = f"{parked:,} parked, from the commit to the answer, p{percent}"
        yield Figure("waits", case, "ms", Spread.of([ours]), Spread.of([bare]), ours / bare, most=most)
    limits: dict[str, float | None] = {
        "kB each": 20.0,
        "threads": 20.0,
        "connections open": 17.0,
        "connections held": 0.0,
        "lost": 0.0,
        "doubled": 0.0,
        "seconds to leave": 3.0,
        "seconds until all had looked": 5.0 if parked <= TOGETHER_AGAIN else None,
    }
    for name, value in {**facts, "lost": heard.lost, "doubled": heard.doubled}.items():
        yield Figure("waits", f"{parked:,} parked: {name}", "", Spread.of([value]), None, value, most=limits.get(name))


def _measure(
    address: str, straight: Connection, crew: list[load.Machine], size: Size, *, application: str, enqueue: Callable[[], str]
) -> tuple[Heard, dict[str, float]]:
    """Park everybody, trickle, and end the server with all still parked."""
    with serving(address, application) as server:
        return asyncio.run(_session(server, straight, crew, size, enqueue))


async def _session(
    server: Server, straight: Connection, crew: list[load.Machine], size: Size, enqueue: Callable[[], str]
) -> tuple[Heard, dict[str, float]]:
    hall, before, began = Hall(), server.kilobytes, time.monotonic()
    tasks = await _park(hall, server, crew)
    facts: dict[str, float] = {}
    while straight.execute(UNSEEN).fetchone() is not None and time.monotonic() < began + len(crew) / _LOOKS_A_SECOND:
        await asyncio.sleep(0.02)
    facts["seconds until all had looked"] = time.monotonic() - began
    await asyncio.sleep(1)
    facts |= {"kB each": (server.kilobytes - before) / len(crew), "threads": server.threads}
    connections.close_all()
    facts["connections open"], facts["connections held"] = straight.execute(OPEN).fetchone() or (0, 0)
    sent: dict[str, float] = {}
    trickle = threading.Thread(target=_trickle, args=(sent, enqueue, size.enqueued), daemon=True)
    trickle.start()
    while trickle.is_alive() or (len(hall.told) < len(sent) and time.monotonic() < max(sent.values()) + _LATE_SECONDS):
        await asyncio.sleep(0.05)
    facts["seconds to leave"] = await asyncio.to_thread(end, server)
    for wire in hall.wires:
        wire.close()
    await asyncio.gather(*tasks)
    return _heard(hall, sent), facts


async def _park(hall: Hall, server: Server, crew: list[load.Machine]) -> list[asyncio.Task[None]]:
    """Let the runners come, some hundreds at a time."""
    tasks = []
    for place in range(0, len(crew), _TOGETHER):
        tasks += [asyncio.create_task(hall.wait(server.port, machine.token)) for machine in crew[place : place + _TOGETHER]]
        await asyncio.sleep(0.05)
    while len(hall.wires) < len(crew):
        await asyncio.sleep(0.05)
    return tasks


def _trickle(sent: dict[str, float], enqueue: Callable[[], str], count: int) -> None:
    """Enqueue so many, fifty a second, in a thread of its own; notes when each was committed."""
    for _ in range(count):
        job = enqueue()
        # In a statement of its own: what is assigned is evaluated before what it is assigned to.
        sent[job] = time.monotonic()
        time.sleep(_EVERY_SECONDS)
    connections.close_all()


def _heard(hall: Hall, sent: dict[str, float]) -> Heard:
    delays = [max(0.0, told[0] - sent[job]) for job, told in hall.told.items() if job in sent]
    return Heard(delays, lost=sum(job not in hall.told for job in sent), doubled=sum(len(told) > 1 for told in hall.told.values()))


def submit_to(into: Library) -> str:
    """One submission by the verb; its job's id."""
    files = (SourceFile("source", "main.py", into.source, "0" * 64),)
    new = NewSubmission(lane=into.lanes[0], version=into.version, files=files)
    return str(queue.submit(new, actor="user:1").job)


def _to_floor(straight: Connection) -> str:
    row = straight.execute(floor.ENQUEUE).fetchone()
    straight.execute(NOTIFY, [["one more"]])
    assert row is not None
    return str(row[0])
