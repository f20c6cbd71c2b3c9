"""The waiting room of one server process: who is parked in it, what wakes them, what it has yet to tell the others.

Everything here runs on the event loop but `tell`, which any thread may call. Nothing is held while parked but one
future and one timer: no thread, no database connection.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from concurrent.futures import Future
from enum import Enum
from random import uniform
from typing import Any, Protocol
from uuid import UUID, uuid4

from judging.wake.index import Index
from judging.wake.topics import Concerns, Event, Everyone, Fits, Judged, Work

logger = logging.getLogger(__name__)

# A wake can be lost with the process that owed it, so every parked wait looks again by itself (performance.md §4). A crowd
# that parked together, as after a restart, does so over a whole minute: within twenty seconds ten thousand are 500 looks a second.
FALLBACK_SECONDS = (20.0, 40.0)
CROWDED_FALLBACK_SECONDS = (30.0, 90.0)
CROWD = 3000

# How long announcements are gathered before they are told to the other processes: a NOTIFY for each transaction
# halves the rate of enqueueing.
DEBOUNCE_SECONDS = 0.015

# Announcements kept while the database is away; past this many the others are told that anything may have changed.
UNTOLD = 1000

# Everyone is woken within this time, and sooner when they are few: half a second for a thousand.
SPREAD_SECONDS = 0.5
SPREAD_A_WAITER = 0.0005

# After the listening connection was away, nobody knows what was missed, and there is no hurry.
RETURN_SPREAD_SECONDS = 2.0


class Cause(Enum):
    """Why a parked wait ended."""

    WOKEN = "what it wants was announced"
    MISSED = "what it wants was announced while it was out looking, so it never parked"
    DUE = "its time has come: the deadline, the fallback look, or a spread wake"
    STOPPED = "the process is going away"
    GONE = "the caller hung up"


class Outlet(Protocol):
    """The way to the other processes."""

    def stir(self) -> None:
        """There is something to tell."""


class Hub:
    """One a process. `origin` marks this process's notifications, so that they do not wake its waiters twice."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.origin = uuid4().hex[:12]
        self.index: Index[Waiter] = Index()
        self.waiters: set[Waiter] = set()
        self.untold: set[Event] = set()
        self.outlet: Outlet | None = None
        self.stopping = False

    def tell(self, events: tuple[Event, ...]) -> bool:
        """From any thread: wake the waiters of this process, then those of the others. False when the loop is gone."""
        try:
            self.loop.call_soon_threadsafe(self._told, events)
        except RuntimeError:
            return False
        return True

    def hear(self, events: Iterable[Event]) -> None:
        """Wake the waiters of this process."""
        for event in events:
            match event:
                case Work():
                    self._wake(self.index.work(event), event)
                case Judged(subject) | Concerns(subject):
                    for waiter in self.index.about(subject):
                        waiter.ring(Cause.WOKEN)
                case Everyone():
                    self.hurry_everyone(SPREAD_SECONDS)

    def hurry_everyone(self, seconds: float) -> None:
        """Everybody looks again within that time, spread so that the looks do not stand in each other's way."""
        waiters = self.index.everyone()
        spread = min(seconds, len(waiters) * SPREAD_A_WAITER * seconds / SPREAD_SECONDS)
        for waiter in waiters:
            waiter.hurry(uniform(0, spread))

    def pass_on(self, work: Work) -> None:
        """Wake the next who could use what the last one left."""
        if not self.stopping:
            self._wake(self.index.take(work), work)

    def fallback(self) -> float:
        """Seconds until a wait that starts now looks again unasked."""
        return uniform(*(CROWDED_FALLBACK_SECONDS if len(self.index) > CROWD else FALLBACK_SECONDS))

    def stop(self) -> None:
        """End every wait: those parked answer at once, those looking after their look."""
        self.stopping = True
        for waiter in list(self.waiters):
            waiter.stop()

    def take_untold(self) -> set[Event]:
        """What the other processes are to be told now."""
        untold, self.untold = self.untold, set()
        return untold

    def keep_untold(self, events: set[Event]) -> None:
        """Put aside what could not be told, or not yet."""
        self.untold |= events
        if len(self.untold) > UNTOLD:
            self.untold = {Everyone()}

    def _told(self, events: tuple[Event, ...]) -> None:
        self.hear(events)
        if not self.untold and self.outlet is not None:
            self.loop.call_later(DEBOUNCE_SECONDS, self.outlet.stir)
        self.keep_untold(set(events))

    def _wake(self, waiter: Waiter | None, work: Work) -> None:
        if waiter is not None:
            waiter.spend(work)


class Waiter:
    """One wait, parked or out looking. Use it in `with`: leaving passes on a wake that was not used up."""

    __slots__ = ("_bell", "_hub", "_timer", "_wake", "gone", "looking")

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._bell: asyncio.Future[Cause] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._wake: Work | None = None
        self.looking: Future[Any] | None = None  # a repeated look, which `stop` may call off until it begins
        self.gone = False

    def __enter__(self) -> Waiter:
        self._hub.waiters.add(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._hub.waiters.discard(self)
        if self._wake is not None:
            self._hub.pass_on(self._wake)

    async def park(self, wanted: Fits | UUID, *, since: int, until: float, runner: UUID | None = None) -> Cause:
        """Wait for what is wanted, after a look that began at `since` found nothing, until that time of the loop.

        `runner` is who waits, if one does.
        """
        self._wake = None
        if self.gone or self._hub.stopping:
            return Cause.GONE if self.gone else Cause.STOPPED
        # No await between this test and the bell: an announcement comes before both or after both.
        if not self._hub.index.park(self, wanted, since=since, runner=runner):
            return Cause.MISSED
        loop = self._hub.loop
        self._bell = loop.create_future()
        self._timer = loop.call_at(min(until, loop.time() + self._hub.fallback()), self.ring, Cause.DUE)
        try:
            return await self._bell
        finally:
            self._timer.cancel()
            self._bell = self._timer = None
            self._hub.index.leave(self)

    def ring(self, cause: Cause) -> None:
        """End the parking; the first cause counts."""
        if self._bell is not None and not self._bell.done():
            self._bell.set_result(cause)

    def spend(self, work: Work) -> None:
        """Be the one whom this announcement wakes. Remembered even when the bell has rung for another cause."""
        self._wake = work
        self.ring(Cause.WOKEN)

    def drop_wake(self) -> None:
        """Pass nothing on: whoever came next would meet the same failure, and all would leave one after another."""
        self._wake = None

    def hurry(self, seconds: float) -> None:
        """Look again within that time. What was due sooner stays due."""
        soon = self._hub.loop.time() + seconds
        if self._timer is not None and soon < self._timer.when():
            self._timer.cancel()
            self._timer = self._hub.loop.call_at(soon, self.ring, Cause.DUE)

    def stop(self) -> None:
        """The process is going: give up the parking, or a repeated look that has not begun."""
        self.ring(Cause.STOPPED)
        if self.looking is not None:
            self.looking.cancel()

    def hang_up(self) -> None:
        """The caller is gone."""
        self.gone = True
        self.ring(Cause.GONE)
