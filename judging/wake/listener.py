"""The one connection of a server process that LISTENs, and tells the other processes what was announced in this one.

Its own connection, never from the pool and never through a transaction pooler. A notification is a hint: while the
connection is away the fallback looks go on, and when it is back everybody looks.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from typing import Any

import psycopg

from judging.wake.hub import RETURN_SPREAD_SECONDS, Hub
from judging.wake.topics import CHANNEL, NOTIFY, events_in, payloads

logger = logging.getLogger(__name__)

Connection = psycopg.AsyncConnection[Any]


# A connection that died without a word is noticed by asking it something this often, and waiting this long.
PROBE_SECONDS = 30.0
ANSWER_SECONDS = 10.0

FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 5.0

# How long a process that ends waits to tell the last announcements.
CLOSE_SECONDS = 0.5


class Listener:
    """Keeps the connection up for as long as the process lives. `parameters` gives psycopg's connection parameters."""

    def __init__(self, hub: Hub, parameters: Callable[[], dict[str, Any]]) -> None:
        self.hub = hub
        self.parameters = parameters
        self._stirred = asyncio.Event()
        self._closing = False
        self._listened = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Connect in the background: a database that is away does not keep the server from starting."""
        self.hub.outlet = self
        self._task = self.hub.loop.create_task(self._run())

    def stir(self) -> None:
        """There is something to tell."""
        self._stirred.set()

    async def close(self) -> None:
        """Tell what is left to tell, and disconnect."""
        self._closing = True
        self.stir()
        if self._task is not None:
            _, late = await asyncio.wait({self._task}, timeout=CLOSE_SECONDS)
            for task in late:
                task.cancel()

    async def _run(self) -> None:
        pause = FIRST_PAUSE_SECONDS
        while not self._closing:
            self._listened = False
            try:
                await self._listen()
            except (psycopg.Error, OSError, TimeoutError) as error:
                logger.warning("not listening for work: %s", str(error).strip() or type(error).__name__)
            pause = FIRST_PAUSE_SECONDS if self._listened else min(pause * 2, LONGEST_PAUSE_SECONDS)
            if not self._closing:
                await asyncio.sleep(random.uniform(pause / 2, pause))

    async def _listen(self) -> None:
        connecting = psycopg.AsyncConnection.connect(autocommit=True, **self.parameters())
        connection = await asyncio.wait_for(connecting, ANSWER_SECONDS)
        try:
            connection.add_notify_handler(lambda heard: self._hear(heard.payload))
            await asyncio.wait_for(connection.execute(f"LISTEN {CHANNEL}"), ANSWER_SECONDS)
            self._listened = True
            # Whatever was announced since the last connection broke went unheard.
            self.hub.hurry_everyone(RETURN_SPREAD_SECONDS)
            await self._tell(connection)
            while not self._closing:
                await self._rest(connection)
                await self._tell(connection)
        finally:
            await connection.close()

    async def _rest(self, connection: Connection) -> None:
        """Until there is something to tell; what is heard meanwhile is passed on as it arrives."""
        loop, socket = self.hub.loop, connection.fileno()
        # psycopg watches the same socket while a query runs, so ours is watched only between queries.
        loop.add_reader(socket, self._read, connection, socket)
        try:
            await asyncio.wait_for(self._stirred.wait(), PROBE_SECONDS)
        except TimeoutError:
            loop.remove_reader(socket)
            await asyncio.wait_for(connection.execute("SELECT 1"), ANSWER_SECONDS)
        finally:
            loop.remove_reader(socket)
            self._stirred.clear()

    def _read(self, connection: Connection, socket: int) -> None:
        try:
            connection.pgconn.consume_input()
            while (notification := connection.pgconn.notifies()) is not None:
                self._hear(notification.extra.decode())
        except psycopg.Error:
            # A broken connection stays readable for ever. `_tell` finds it closed.
            self.hub.loop.remove_reader(socket)
            self.stir()

    async def _tell(self, connection: Connection) -> None:
        if connection.closed:
            raise psycopg.OperationalError("the server closed the connection")
        events = self.hub.take_untold()
        if not events:
            return
        try:
            told = connection.execute(NOTIFY, [payloads(events, origin=self.hub.origin)])
            await asyncio.wait_for(told, ANSWER_SECONDS)
        except BaseException:
            self.hub.keep_untold(events)
            raise

    def _hear(self, payload: str) -> None:
        self.hub.hear(events_in(payload, origin=self.hub.origin))
