"""The floor of a parked wait: an ASGI application without Django that parks requests, and answers one a notification.

It hears the same notifications as the site, wakes whoever came first, and takes a row with the floor's statement.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg

from judging.bench.floor import FLOOR

Message = dict[str, Any]
_LISTEN = "LISTEN assize"


class Raw:
    """A waiting room and nothing else. Each request waits until a row was taken for it."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[str]] = deque()
        self._task: asyncio.Task[None] | None = None

    async def __call__(self, scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]) -> None:
        """One connection."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        await receive()
        turn: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        body = f'{{"jobId":"{await turn}"}}'.encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
        await send({"type": "http.response.body", "body": body})

    async def _lifespan(self, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]) -> None:
        while (await receive())["type"] == "lifespan.startup":
            self._task = asyncio.create_task(self._listen())
            await send({"type": "lifespan.startup.complete"})
        if self._task is not None:
            self._task.cancel()
        await send({"type": "lifespan.shutdown.complete"})

    async def _listen(self) -> None:
        address = os.environ["DATABASE_URL"]
        taking = await psycopg.AsyncConnection.connect(address, autocommit=True)
        hearing = await psycopg.AsyncConnection.connect(address, autocommit=True)
        async with taking, hearing:
            await hearing.execute(_LISTEN)
            async for _ in hearing.notifies():
                row = await (await taking.execute(FLOOR, prepare=True)).fetchone()
                if row is not None and self._waiting:
                    self._waiting.popleft().set_result(str(row[0]))


application = Raw()
