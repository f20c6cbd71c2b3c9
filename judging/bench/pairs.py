"""Claims and reports over HTTP by fifty runners, against a view that does nothing but authenticate them."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from judging.audit import audit
from judging.bench import load
from judging.bench.measure import Figure, Spread, in_turn, ratio
from judging.bench.scratch import direct
from judging.bench.server import Server, serving
from judging.bench.size import Size
from judging.bench.wire import Wire

NOOP = "/api/v1/noop"
BARE = "/api/v1/runner/noop"
CLAIM = "/api/v1/runner/jobs/claim"
_RATE = 700
"""More pairs a second than any server here will do: so much work is loaded."""

Act = Callable[[Wire], Awaitable[None]]


def pairs(address: str, size: Size) -> Iterator[Figure]:
    """Claim + report pairs a second against half the rate of a call that does nothing; then an audit of it all."""
    with direct(address) as straight, serving(address) as server:
        into, crew = load.library(lanes=8), load.machines(size.runners)
        load.give_tokens(straight, crew)
        wanted = int(_RATE * size.seconds * (size.rounds + 1))
        load.queued(straight, into, wanted, lane_of=lambda place: into.lanes[place % 8], begin=datetime.now(UTC))
        _rate(server, crew, 1.0, _pair)
        calls, bare, done = in_turn(
            *(lambda act=act: _rate(server, crew, size.seconds, act) for act in (_noop(NOOP), _noop(BARE), _pair)), rounds=size.rounds
        )
    outcome = audit()
    case = f"claim + report, {size.runners} runners, against half of"
    yield _figure(f"{case} a DRF view", done, calls, least=0.8)
    proof = f"afterwards the audit says: {outcome.words}"
    yield replace(_figure(f"{case} one on the runners' way", done, bare), note=proof)


def _figure(case: str, done: Spread, calls: Spread, *, least: float | None = None) -> Figure:
    half = Spread(calls.median / 2, calls.low / 2, calls.high / 2)
    return Figure("pairs", case, "pairs/s", done, half, ratio(done, half), least=least)


def _rate(server: Server, crew: Sequence[load.Machine], seconds: float, act: Act) -> float:
    """How often a second the crew together does it, each over a connection of its own."""

    async def together() -> float:
        wires = [await Wire.open(server.port, machine.token) for machine in crew]
        began = time.perf_counter()
        counts = await asyncio.gather(*(_again(wire, act, until=began + seconds) for wire in wires))
        took = time.perf_counter() - began
        for wire in wires:
            wire.close()
        return sum(counts) / took

    return asyncio.run(together())


async def _again(wire: Wire, act: Act, *, until: float) -> int:
    count = 0
    while time.perf_counter() < until:
        await act(wire)
        count += 1
    return count


def _noop(where: str) -> Act:
    async def call(wire: Wire) -> None:
        answer = await wire.post(where)
        assert answer.status == 200, answer

    return call


async def _pair(wire: Wire) -> None:
    answer = await wire.post(CLAIM, b'{"leaseSeconds":600}')
    assert answer.status == 200, answer
    job = json.loads(answer.body)
    said = {"leaseToken": job["leaseToken"], "verdict": "Accepted", "score": 1, "maxScore": 1, "runnerVersion": "bench 1"}
    answer = await wire.post(f"/api/v1/runner/jobs/{job['jobId']}/report", json.dumps(said).encode())
    assert answer.status == 200, answer
