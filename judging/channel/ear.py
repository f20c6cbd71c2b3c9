"""Waiting for whatever comes first on one connection: a message, a wake, a deadline, the end of the process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any
from uuid import UUID

from judging.wake import Cause, Fits, Hub, Waiter

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]


class Gone(Exception):
    """The runner hung up."""


class Ear:
    """Hears for one connection of one runner; `since` is how many announcements had been heard at its last look."""

    def __init__(self, hub: Hub, receive: Receive, runner: UUID, *, since: int) -> None:
        self.since = since
        self._hub = hub
        self._receive = receive
        self._runner = runner
        self._coming: asyncio.Task[Message] | None = None

    def look(self) -> None:
        """A look begins now: what is announced from here on is news."""
        self.since = self._hub.index.heard

    async def next(self, waiter: Waiter, wanted: Fits | None, *, until: float) -> Message | Cause:
        """The next message, or why the waiting ended; None wants nothing but news of the runner. Raises Gone.

        A wake comes before a message: a runner that never stops talking must not drown out its own revocation.
        """
        parking = (
            waiter.park(self._runner, since=self.since, until=until)
            if wanted is None
            else waiter.park(wanted, since=self.since, until=until, runner=self._runner)
        )
        parked = self._hub.loop.create_task(parking)
        try:
            await asyncio.wait({self._incoming(), parked}, return_when=asyncio.FIRST_COMPLETED)
            return parked.result() if parked.done() else self._taken()
        finally:
            if not parked.done():
                parked.cancel()
                with suppress(asyncio.CancelledError):
                    await parked

    async def must_be_there(self) -> None:
        """Raise Gone when the line is known to be broken: servers say so by the next turn of the loop."""
        coming = self._incoming()
        await asyncio.sleep(0)
        if coming.done() and coming.result()["type"] == "websocket.disconnect":
            raise Gone

    def close(self) -> None:
        """Hear no more."""
        if self._coming is not None:
            self._coming.cancel()

    def _incoming(self) -> asyncio.Task[Message]:
        """The one task that receives: servers take a cancelled receive() for a hang-up."""
        if self._coming is None:
            self._coming = self._hub.loop.create_task(self._received())
        return self._coming

    async def _received(self) -> Message:
        return await self._receive()

    def _taken(self) -> Message:
        message = self._incoming().result()
        if message["type"] == "websocket.disconnect":
            raise Gone
        self._coming = None
        return message
