"""A thousand channels on one process, of which one fits the work that comes: what each costs, and how soon it is told."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from uuid import UUID

from django.conf import settings
from django.db import connections
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from judging.bench import load
from judging.bench.loaded import Library
from judging.bench.measure import Figure, Spread, percentile
from judging.bench.scratch import Connection, direct
from judging.bench.server import Server, end, serving
from judging.bench.size import Size
from judging.bench.waits import OPEN, submit_to
from runners import keys
from runners.channel_keys import RANDOM_LENGTH
from runners.models import ChannelKey

READY = json.dumps({"event": "ready", "poll_timeout": 900})
_TOGETHER = 20
_SETTLED_SECONDS = 2.0
_LATE_SECONDS = 10.0
_POLLING_SECONDS = 0.1
_LIMITS = {"kB each, idle": 64.0, "kB each, polling": 64.0, "connections held": 0.0, "told to others": 0.0, "lost": 0.0}


@dataclass(slots=True)
class Hall:
    """Open channels: the first belongs to the one runner that fits. `astray` counts what the others were told."""

    lines: list[ClientConnection] = field(default_factory=list)
    astray: int = 0

    async def open(self, server: Server, runner: UUID, key: str, stack: AsyncExitStack) -> None:
        """One more."""
        address = f"ws://127.0.0.1:{server.port}/v0/runners/{runner}/channel"
        headers = {"Authorization": f"Bearer {key}"}
        opened = connect(address, additional_headers=headers, compression=None, ping_interval=None, close_timeout=1, max_queue=1)
        self.lines.append(await stack.enter_async_context(opened))

    async def listen(self, line: ClientConnection) -> None:
        """One that fits nothing: whatever it hears went astray."""
        with suppress(ConnectionClosed):
            async for _ in line:
                self.astray += 1


def channels(address: str, size: Size) -> Iterator[Figure]:
    """For each number of channels: open them, let all poll, and submit one by one what only one of them may judge."""
    for count in size.channels:
        with direct(address) as straight:
            into = load.library(lanes=1)
            crew = [*load.machines(1), *load.machines(count - 1, tags=["elsewhere"])]
            given = _give_keys(crew)
            with serving(address, ASSIZE_CHANNEL_ATTEMPTS="1000000") as server:
                facts, delays = asyncio.run(_session(server, straight, given, into, size))
        for percent in (50, 99):
            told = percentile(delays, percent) * 1000
            case = f"{count:,} polling, from the commit to the right one, p{percent}"
            yield Figure("channels", case, "ms", Spread.of([told]), None, told, most=1000.0)
        for name, value in facts.items():
            yield Figure("channels", f"{count:,} channels: {name}", "", Spread.of([value]), None, value, most=_LIMITS.get(name))


def _give_keys(crew: list[load.Machine]) -> dict[UUID, str]:
    """A channel key for each machine."""
    given = {one.id: settings.CHANNEL_KEY_PREFIX + secrets.token_hex(RANDOM_LENGTH)[:RANDOM_LENGTH] for one in crew}
    ChannelKey.objects.bulk_create(ChannelKey(runner_id=runner, digest=keys.digest(key)) for runner, key in given.items())
    return given


async def _session(
    server: Server, straight: Connection, given: dict[UUID, str], into: Library, size: Size
) -> tuple[dict[str, float], list[float]]:
    hall = Hall()
    facts: dict[str, float] = {}
    async with AsyncExitStack() as stack:
        await _come(hall, server, given, stack, facts)
        right, *others = hall.lines
        listening = [asyncio.create_task(hall.listen(line)) for line in others]
        connections.close_all()
        facts["connections open"], facts["connections held"] = straight.execute(OPEN).fetchone() or (0, 0)
        facts["threads"] = server.threads
        delays = [await _told(right, into) for _ in range(size.enqueued // 10)]
        facts |= {"told to others": hall.astray, "lost": sum(delay == _LATE_SECONDS for delay in delays)}
        facts["seconds to leave"] = await asyncio.to_thread(end, server)
        await asyncio.gather(*listening)
    return facts, delays


async def _come(hall: Hall, server: Server, given: dict[UUID, str], stack: AsyncExitStack, facts: dict[str, float]) -> None:
    """All connect, some at a time, and then all poll; what a channel costs before and after."""
    runners = list(given.items())
    # A process that has served some already: what the first of all bring with them is not theirs.
    for runner, key in runners[:_TOGETHER]:
        await hall.open(server, runner, key, stack)
    await asyncio.sleep(_SETTLED_SECONDS)
    before, began = server.kilobytes, time.monotonic()
    for place in range(_TOGETHER, len(runners), _TOGETHER):
        await asyncio.gather(*(hall.open(server, runner, key, stack) for runner, key in runners[place : place + _TOGETHER]))
    facts["seconds to connect"] = time.monotonic() - began
    await asyncio.sleep(_SETTLED_SECONDS)
    more = len(runners) - _TOGETHER
    facts["kB each, idle"] = (server.kilobytes - before) / more
    await asyncio.gather(*(line.send(READY) for line in hall.lines))
    await asyncio.sleep(_SETTLED_SECONDS + len(runners) / 200)
    facts["kB each, polling"] = (server.kilobytes - before) / more


async def _told(line: ClientConnection, into: Library) -> float:
    """Seconds from the commit of a submission to its job frame on this channel, which then gives the job up and polls."""
    job = await asyncio.to_thread(submit_to, into)
    began = time.monotonic()
    try:
        frame = json.loads(await asyncio.wait_for(line.recv(), _LATE_SECONDS))
    except TimeoutError:
        return _LATE_SECONDS
    seconds = time.monotonic() - began
    assert frame["uuid"] == job, frame
    await line.send(json.dumps({"event": "canceled", "job": job}))
    await asyncio.wait_for(line.recv(), _LATE_SECONDS)
    await line.send(READY)
    # It must be polling before the next one is sent in, or the wait for its own look would be told as ours.
    await asyncio.sleep(_POLLING_SECONDS)
    return seconds
