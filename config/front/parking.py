"""Requests that may wait: looked at in a pool thread, parked on the loop, looked at again as complete fresh requests.

A view answers as always. When its `Look` says that it found nothing and the caller would wait, the answer is kept
back and the request parked (performance.md §3), holding no thread and no connection.
"""

from __future__ import annotations

import asyncio
import contextvars
import io
import random
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from uuid import UUID

from config.front.bridge import Answer, Wsgi, call
from config.front.environ import Receive, Scope, Send, environ_of
from config.front.exchange import hang_up
from judging.wake import Cause, Hub, Look, Waiter, soon

# runner-protocol §4 and §11.
LONGEST_WAIT_SECONDS = 300.0
JITTER = 1 / 16

# The answer leaves at least this long before the caller stops counting, unless the wait is too short to spare it.
MARGIN_SECONDS = 0.05

# A token is looked at again just after it expired. Not sooner than half a second, whatever a wrong clock says.
EXPIRED_SECONDS = 0.02
SOONEST_SECONDS = 0.5

# Timers go off as much as this too early.
CLOCK_SECONDS = 0.005

CLOSING = (b"connection", b"close")


def shortened(wait: float, draw: float) -> float:
    """The length of a wait in seconds: never more than asked, never under 15/16 of it; `draw` in [0, 1) spreads it."""
    asked = min(wait, LONGEST_WAIT_SECONDS)
    return asked - max(asked * JITTER * draw, min(MARGIN_SECONDS, asked * JITTER / 2))


@dataclass(frozen=True, slots=True)
class Seen:
    """What one look brought."""

    look: Look
    answer: Answer


@dataclass(frozen=True, slots=True)
class Visit:
    """One request that may wait. `line` ends when the caller hangs up; `pool` is where it looks."""

    scope: Scope
    body: bytes
    began: float
    pool: Executor
    waiter: Waiter
    line: asyncio.Task[None]


class Parking:
    """Where requests wait. Looks nobody asked for have a pool of their own, `again`: their storms delay no request."""

    def __init__(self, app: Wsgi, hub: Hub, *, again: Executor, undo: Callable[[UUID, UUID], None]) -> None:
        """`undo` takes back the job and lease token of a hand-out; it is called in a pool thread."""
        self._app = app
        self._hub = hub
        self._again = again
        self._undo = undo

    async def serve(self, scope: Scope, receive: Receive, send: Send, *, body: bytes, pool: Executor) -> None:
        """Answer a request, now or when there is something to answer. Raises Streamed when the answer is a stream."""
        began = self._hub.loop.time()
        line = self._hub.loop.create_task(hang_up(receive))
        try:
            with Waiter(self._hub) as waiter:
                line.add_done_callback(lambda _: waiter.hang_up())
                visit = Visit(scope, body, began, pool, waiter, line)
                seen = await self._seen(visit)
                # Sent before the wake is passed on: the next one's look would compete with it for the processor.
                if seen is not None:
                    await self._deliver(seen, visit, send)
        finally:
            line.cancel()

    async def _seen(self, visit: Visit) -> Seen | None:
        """The look that is answered with; None when the caller hung up before any."""
        seen = await self._look(visit, visit.pool)
        if seen is None or not seen.look.found_nothing:
            return seen
        deadline = visit.began + shortened(seen.look.wait_seconds or 0, random.random())
        passed_by = 0
        while True:
            passed_by = passed_by + 1 if seen.look.passed_by else 0
            cause = await self._parked(visit, seen.look, min(deadline, self._hub.loop.time() + soon(passed_by)))
            if cause in (Cause.STOPPED, Cause.GONE):
                return seen
            if cause is Cause.DUE and self._hub.loop.time() > deadline - CLOCK_SECONDS:
                return await self._last(visit, seen)
            pool = self._again if cause is Cause.DUE else visit.pool
            again = await self._look(visit, pool, call_off_at=deadline)
            if again is None or not again.look.found_nothing:
                return again or seen
            seen = again

    async def _parked(self, visit: Visit, look: Look, deadline: float) -> Cause:
        until = deadline
        if look.until is not None:
            until = min(deadline, self._hub.loop.time() + max(look.until + EXPIRED_SECONDS, SOONEST_SECONDS))
        wanted = look.fits or look.awaiting
        assert wanted is not None, "a look that found nothing says what it looked for"
        return await visit.waiter.park(wanted, since=look.since, until=until, runner=look.runner)

    async def _last(self, visit: Visit, seen: Seen) -> Seen:
        """The answer when the time is up: nothing is nothing, but a document is to be current."""
        if seen.look.awaiting is None:
            return seen
        return await self._look(visit, visit.pool) or seen

    async def _look(self, visit: Visit, pool: Executor, *, call_off_at: float | None = None) -> Seen | None:
        """One complete request; None when it was called off before it began.

        The caller's hanging up calls off any look; the deadline and the end of the process only a repeated one,
        since there is an answer to give already.
        """
        look = Look()
        job = pool.submit(contextvars.copy_context().run, self._run, visit, look)
        try:
            with self._recallable(job, visit, call_off_at):
                await asyncio.wait({asyncio.wrap_future(job)})
        except asyncio.CancelledError:
            # A thread cannot be stopped: what it is handed after all is taken back when it ends.
            job.add_done_callback(lambda _: self._take_back(look))
            raise
        if job.cancelled():
            return None
        if job.result().status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            visit.waiter.drop_wake()
        return Seen(look, job.result())

    @contextmanager
    def _recallable(self, job: Future[Answer], visit: Visit, call_off_at: float | None) -> Iterator[None]:
        def call_off(_: object = None) -> None:
            job.cancel()

        visit.line.add_done_callback(call_off)
        timer = None
        if call_off_at is not None:
            visit.waiter.looking = job
            timer = self._hub.loop.call_at(call_off_at, call_off)
        try:
            yield
        finally:
            visit.line.remove_done_callback(call_off)
            visit.waiter.looking = None
            if timer is not None:
                timer.cancel()

    def _run(self, visit: Visit, look: Look) -> Answer:
        """In the pool thread."""
        # Read here and not before: what was announced while this waited for a thread is in the look.
        look.since = self._hub.index.heard
        scope = {**visit.scope, "assize.look": look}
        return call(self._app, environ_of(scope, io.BytesIO(visit.body), length=len(visit.body)))

    async def _deliver(self, seen: Seen, visit: Visit, send: Send) -> None:
        """Send the answer; a job handed to a caller who is known gone before all was sent is taken back (§7)."""
        delivered = False
        try:
            if not visit.waiter.gone:
                await send(seen.answer.start(*([CLOSING] if self._hub.stopping else [])))
            if seen.look.handout is not None:
                # The server is silent about a broken line, but the line has ended by the next turn of the loop.
                await asyncio.sleep(0)
            if not visit.waiter.gone:
                await send(seen.answer.rest())
                delivered = True
        finally:
            if not delivered and seen.look.handout is not None:
                visit.pool.submit(self._take_back, seen.look)

    def _take_back(self, look: Look) -> None:
        """In a pool thread."""
        if look.handout is not None:
            self._undo(*look.handout)
