"""What a server process begins with and ends with: its pools, its waiting room, its ticker, its signals."""

from __future__ import annotations

import asyncio
import gc
import random
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from types import FrameType
from typing import Any

from django.conf import settings
from django.db import connections
from django.urls import get_resolver

from config.front.bridge import Wsgi
from config.front.exchange import LONG_AT_ONCE
from config.front.parking import Parking
from config.front.pools import Pools, run_verb
from judging.wake import Hub, Listener, attach, take_turns

# A name for operators to see, and a vanished server noticed within half a minute though nothing is asked of it.
LISTENING = {"application_name": "assize listener", "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}

COLLECTING = (3_000, 10, 20)
"""When the collector runs: more seldom than it would, for thousands of parked waits are walked each time it runs fully."""

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)


class Life:
    """One server process. `sweep` and `undo` are dotted paths of verbs: the core's, or a test's."""

    def __init__(self, app: Wsgi, *, sweep: str, undo: str) -> None:
        self._sweep = sweep
        self.pools = Pools.start()
        self.long_bodies = asyncio.Semaphore(LONG_AT_ONCE)
        self.hub = Hub(asyncio.get_running_loop())
        self.listener = Listener(self.hub, listen_parameters)
        self.parking = Parking(
            app,
            self.hub,
            again=self.pools.again,
            undo=lambda job, token: run_verb(undo, job, token=token),
        )
        self._ticker = self.hub.loop.create_task(self._tick())

    def begin(self) -> None:
        """Listen to the other processes and to the signals that end this one."""
        settle()
        take_turns()
        attach(self.hub)
        self.listener.start()
        _heed(lambda: self.hub.loop.call_soon_threadsafe(self.hub.stop))

    async def end(self) -> None:
        """Let go of everything; waits have been answered by now."""
        self.hub.stop()
        self._ticker.cancel()
        await self.listener.close()
        attach(None)
        self.pools.stop()

    async def _tick(self) -> None:
        """Sweep every few seconds: the ticker is the speed, cron the guarantee (architecture §3)."""
        period = float(settings.TICKER_SECONDS)
        while period > 0:
            # The processes of a machine start together and need not sweep together.
            await asyncio.sleep(random.uniform(0.75, 1.25) * period)
            await self.hub.loop.run_in_executor(self.pools.ticks, run_verb, self._sweep, timedelta(seconds=period))


def settle() -> None:
    """Load what the first request would, and let the collector never walk any of it again.

    A hundred thousand objects that live as long as the process made each full collection a pause of 70 ms for everybody.
    """
    assert get_resolver().url_patterns
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTING)


def listen_parameters() -> dict[str, Any]:
    """psycopg's parameters for the listening connection: the server itself, where the site goes through a pooler."""
    if url := getattr(settings, "DATABASE_LISTEN_URL", ""):
        return {"conninfo": url, **LISTENING}
    parameters: dict[str, Any] = connections["default"].get_connection_params()
    # Django's own: they make cursors and adapt values for sync connections.
    ours = {name: value for name, value in parameters.items() if name not in ("context", "cursor_factory")}
    return {**ours, **LISTENING}


def _heed(then: Callable[[], object]) -> None:
    """Do this at the first sign of the end, before what the server does: it would wait for parked requests."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in ENDING:
        before = signal.getsignal(number)

        def heard(number: int, frame: FrameType | None, before: Any = before) -> None:
            with suppress(RuntimeError):  # the loop has closed: everything has ended already
                then()
            if callable(before):
                before(number, frame)

        signal.signal(number, heard)
