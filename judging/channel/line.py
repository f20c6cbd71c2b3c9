"""One connection of a runner and its three modes: idle, polling, executing (channel-protocol §3).

Nothing here decides who owns a job: that is read and written under the queue's locks, for every message.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from uuid import UUID, uuid4

from django.conf import settings

from judging.channel import frames
from judging.channel.desk import Barred, Desk, Handed, Wanted
from judging.channel.ear import Ear, Receive
from judging.channel.mouth import DEAF_SECONDS, Mouth, Send
from judging.channel.releases import offer
from judging.channel.resuming import Run
from judging.errors import NotStarted, Refusal
from judging.queue import Answer, beat, start
from judging.wake import Cause, Fits, Hub, Waiter, soon

# While nothing is handed out, or the database is away, a poll looks again this often.
SHUT_SECONDS = 5.0

# Timers go off as much as this too early.
CLOCK_SECONDS = 0.005

# Characters of a frame that is read at once.
SHORT = 64 * 1024

# How many of the tokens it was given a connection remembers.
REMEMBERED = 64


class Closing(Exception):
    """The connection ends here, with a code and a reason; empty, or one JSON string."""

    def __init__(self, code: int, reason: str = "") -> None:
        super().__init__(code, reason)
        self.code = code
        self.reason = json.dumps(reason) if reason else ""


class Line:
    """One connection. Executing while it has a `run`, polling inside `_poll`, else idle."""

    def __init__(self, desk: Desk, hub: Hub, receive: Receive, send: Send, *, since: int) -> None:
        """`since` is how many announcements had been heard before the key was looked at."""
        self.id = uuid4()
        self.run: Run | None = None
        self._desk = desk
        self._hub = hub
        self._mouth = Mouth(send)
        self._ear = Ear(hub, receive, desk.who.runner, since=since)
        self._silent_at = 0.0
        self._offered = False
        self._given: dict[UUID, UUID] = {}
        self._stopped: UUID | None = None

    async def serve(self) -> None:
        """Until either side ends it. Raises Closing, Gone."""
        try:
            with Waiter(self._hub) as waiter:
                while True:
                    await self._turn(waiter)
        except Barred:
            raise Closing(1008, "key_not_valid") from None
        finally:
            self._ear.close()

    async def _turn(self, waiter: Waiter) -> None:
        """Wait for one thing to happen, idle or executing, and act on it."""
        until = self._silent_at if self.run else self._hub.loop.time() + 2 * DEAF_SECONDS
        happened = await self._ear.next(waiter, None, until=until)
        if isinstance(happened, Cause):
            await self._look_around(happened)
        elif (text := happened.get("text")) is not None:
            await self._hear(text)

    async def _look_around(self, cause: Cause) -> None:
        """Something was decided of this runner, or it is time to see whether anything was, or the runner is silent."""
        if cause is Cause.STOPPED:
            raise Closing(1001)
        self._ear.look()
        if self.run and self._hub.loop.time() >= self._silent_at - CLOCK_SECONDS:
            raise await self._silence(self.run)
        with suppress(Refusal):
            standing = await self._desk.ask(lambda standing: standing)
            if self.run and standing.token == self.run.token and standing.line != self.id:
                raise Closing(1000, "resumed elsewhere")

    async def _silence(self, run: Run) -> Closing:
        """How the connection of a silent runner ends; without a database the lease alone decides."""
        try:
            return Closing(1000, str(await self._desk.lose(run)))
        except Refusal:
            return Closing(1000, "heartbeat_timeout")

    async def _hear(self, text: str) -> None:
        """One text frame, idle or executing."""
        said = await self._read(text)
        match said:
            case None:
                if self.run is None:
                    raise Closing(1007, "bad_message")
                return
            case frames.Ready():
                await (self._ready(said) if self.run is None else self._mouth.tell(frames.Ack(self.run.job)))
                return
            case frames.Running() | frames.Heartbeat():
                await self._live(said)
            case _:
                await self._end(said)
        self._listen()

    async def _read(self, text: str) -> frames.Said | None:
        """What a frame says. A long one is read elsewhere: megabytes of bad JSON must not keep other connections waiting."""
        return frames.read(text) if len(text) <= SHORT else await self._desk.read(text)

    def _listen(self) -> None:
        """The runner was heard, and answered: from here its silence counts."""
        self._silent_at = self._hub.loop.time() + settings.LIMITS.heartbeat.total_seconds()

    async def _live(self, said: frames.Live) -> None:
        """A sign of life. While the database is away there is no answer: the lease outlasts a short absence."""
        begins = isinstance(said, frames.Running)
        with suppress(Refusal):
            if self.run is None:
                await self._resume(begins=begins)
                return
            run = self.run
            verb = start if begins else beat
            await self._answer(run, await self._desk.ask(lambda _: verb(run.job, token=run.token)))

    async def _answer(self, run: Run, answer: Answer) -> None:
        if answer is Answer.ACK:
            await self._mouth.tell(frames.Ack(run.job))
        else:
            self.run = None
            self._stopped = run.token
            await self._mouth.tell(frames.Cancel())

    async def _resume(self, *, begins: bool) -> None:
        found = await self._desk.resume(self.id, begins=begins)
        if isinstance(found, Run):
            self._take(found)
            await self._mouth.tell(frames.Ack(found.job))
        elif found is not None and self._stopped is None and not self._given:
            # Only the first time, and only on a connection that has not worked yet: it speaks of a run of before.
            self._stopped = self.id
            await self._mouth.tell(frames.Cancel())

    def _take(self, run: Run) -> None:
        self.run = run
        self._given[run.job] = run.token
        if len(self._given) > REMEMBERED:
            del self._given[next(iter(self._given))]

    async def _end(self, said: frames.Terminal) -> None:
        """A terminal message, in any mode: stored first, acknowledged then, processed after that."""
        in_course = self.run is not None and self.run.job == said.job
        try:
            outcome = await self._desk.end(said, self._given.get(said.job), in_course=in_course)
        except NotStarted:
            raise Closing(1002, "not_running") from None
        except Refusal:
            # Not kept, so not acknowledged: the runner keeps it, connects again and sends it again.
            raise Closing(1013, "try_again") from None
        if in_course:
            self.run = None
        try:
            await self._mouth.tell(frames.Ack(said.job))
        finally:
            if outcome is not None:
                await self._desk.process(outcome)

    async def _ready(self, said: frames.Ready) -> None:
        if said.runner is not None:
            with suppress(Refusal):
                await self._desk.introduce(said.runner)
        update = None if self._offered else offer(said.runner)
        if update is not None:
            self._offered = True
            await self._mouth.tell(update)
            return
        await self._poll(self._hub.loop.time() + said.wait_seconds)

    async def _poll(self, deadline: float) -> None:
        """Look, and wait, and look again, until there is a job or the time is up. Nothing is held meanwhile."""
        due, passed_by = False, 0
        with Waiter(self._hub) as waiter:
            while True:
                self._ear.look()
                found = await self._looked(waiter, unasked=due)
                if isinstance(found, Handed):
                    await self._hand_over(found)
                    return
                passed_by = passed_by + 1 if found and found.passed_by else 0
                until = self._hub.loop.time() + (soon(passed_by) if found else SHUT_SECONDS)
                due = await self._parked(waiter, found.fits if found else None, min(deadline, until))
                if due and self._hub.loop.time() >= deadline - CLOCK_SECONDS:
                    await self._mouth.tell(frames.NoJob())
                    return

    async def _looked(self, waiter: Waiter, *, unasked: bool) -> Handed | Wanted | None:
        try:
            return await self._desk.claim(unasked=unasked)
        except Refusal:
            waiter.drop_wake()
            return None

    async def _parked(self, waiter: Waiter, wanted: Fits | None, until: float) -> bool:
        """Wait for work; whether the time is up. Terminal messages are acted on, and do not end it."""
        while True:
            happened = await self._ear.next(waiter, wanted, until=until)
            if happened is Cause.STOPPED:
                raise Closing(1001)
            if isinstance(happened, Cause):
                return happened is Cause.DUE
            said = await self._read(happened.get("text") or "")
            if isinstance(said, frames.Terminal):
                await self._end(said)

    async def _hand_over(self, handed: Handed) -> None:
        """Send a job; when the runner is known to be gone before that, the hand-out is undone."""
        sent = False
        try:
            await self._ear.must_be_there()
            await self._mouth.say(handed.frame)
            sent = True
        finally:
            if not sent:
                await asyncio.shield(self._desk.undo(handed.run))
        self._take(handed.run)
        with suppress(Refusal):
            await self._desk.ask(lambda _: beat(handed.run.job, token=handed.run.token))
        self._listen()
