"""What one connection asks of the database: each question in a pool thread, which gives its connection back at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

import structlog
from django.db import InterfaceError, OperationalError, connections

from judging import queue
from judging.channel import frames
from judging.channel.documents import job_frame
from judging.channel.resuming import Run, resume
from judging.durable import storage_refusal
from judging.errors import RunnerNotApproved
from judging.queue import Answer, Nothing, Silence
from judging.wake import Fits
from runners import channel_keys
from runners.channel_keys import Caller, Standing
from runners.models import Runner

T = TypeVar("T")
log = structlog.get_logger()


class Barred(Exception):
    """This key opens nothing any more."""


@dataclass(frozen=True, slots=True)
class Handed:
    """A job that was just claimed, and the frame that tells it."""

    run: Run
    frame: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a runner that was handed nothing waits for; `passed_by` says that there was work, in other hands."""

    fits: Fits
    passed_by: bool


class Desk:
    """The questions of one runner. Every one begins with whether its key is still good.

    Raises Barred, or a Refusal when the database does not answer.
    """

    def __init__(self, who: Caller, pool: Executor, *, again: Executor, registry: str) -> None:
        """`pool` is where it asks, `again` where it looks when nobody asked it to.

        `registry` is the URL the runner reaches this server by.
        """
        self.who = who
        self._pool = pool
        self._again = again
        self._registry = registry

    async def ask(self, act: Callable[[Standing], T]) -> T:
        """Do this in a thread, told how the key stands."""
        return await asyncio.wrap_future(self._pool.submit(self._run, act))

    async def read(self, text: str) -> frames.Said | None:
        """What a long frame says; in a thread, whose lock on the interpreter the loop gets back now and then."""
        return await asyncio.wrap_future(self._pool.submit(frames.read, text))

    async def claim(self, *, unasked: bool) -> Handed | Wanted | None:
        """A job, or what this runner waits for; None while nothing is handed out at all.

        `unasked` is a look for which neither the runner nor an announcement is the cause: storms of those delay nobody.
        """
        asked = (self._again if unasked else self._pool).submit(self._run, self._claim)
        try:
            return await asyncio.wrap_future(asked)
        except asyncio.CancelledError:
            # A thread cannot be stopped: what it is handed after all is taken back when it ends.
            asked.add_done_callback(self._take_back)
            raise

    def _run(self, act: Callable[[Standing], T]) -> T:
        try:
            standing = channel_keys.standing(self.who)
            if standing is None:
                raise Barred
            return act(standing)
        except RunnerNotApproved:
            raise Barred from None
        except (OperationalError, InterfaceError) as error:
            raise storage_refusal(error) from error
        finally:
            connections.close_all()

    def _claim(self, _: Standing) -> Handed | Wanted | None:
        answer = queue.claim_on_channel(self.who.runner)
        if answer is Nothing.SHUT:
            return None
        if isinstance(answer, Nothing):
            runner = Runner.objects.get(id=self.who.runner)
            fits = Fits(frozenset(runner.problem_types), runner.external, runner.pools)
            return Wanted(fits, answer is Nothing.PASSED_BY)
        assert answer.row.token is not None
        run = Run(answer.row.id, answer.row.token)
        try:
            return Handed(run, frames.write(job_frame(answer, registry=self._registry)))
        except Exception:
            queue.undo_handout(run.job, token=run.token)
            raise

    def _take_back(self, asked: Future[Handed | Wanted | None]) -> None:
        """In the thread that claimed, or on the loop when it had claimed before."""
        if asked.cancelled() or asked.exception() is not None:
            return
        handed = asked.result()
        if isinstance(handed, Handed):
            self._pool.submit(undo, handed.run)

    async def undo(self, run: Run) -> None:
        """The frame never left."""
        await asyncio.wrap_future(self._pool.submit(undo, run))

    async def resume(self, line: UUID, *, begins: bool) -> Run | Answer | None:
        """What a sign of life on an idle connection means: as `judging.channel.resuming` has it."""
        return await self.ask(lambda _: resume(self.who, line=line, begins=begins))

    async def lose(self, run: Run) -> Silence:
        """The runner was silent for too long."""
        return await self.ask(lambda _: queue.lose(run.job, token=run.token))

    async def end(self, said: frames.Terminal, given: UUID | None, *, in_course: bool) -> UUID | None:
        """A terminal message: kept, whatever is to be kept of it; the outcome to process, if there is one.

        `given` is the token this connection was given for the job; `in_course` says that the run is going on here.
        Raises NotStarted.
        """
        return await self.ask(lambda _: self._end(said, given, in_course=in_course))

    def _end(self, said: frames.Terminal, given: UUID | None, *, in_course: bool) -> UUID | None:
        runner = self.who.runner
        match said:
            case frames.Completed(job, results):
                output = frames.document(results)
                return queue.finish(job, runner=runner, token=given, output=output, in_course=in_course)
            case frames.Failed(job, results, error):
                output = frames.document(results, error)
                queue.fail(job, runner=runner, token=given, output=output, error=error)
            case frames.Canceled(job):
                queue.abandon(job, runner=runner, token=given)
        return None

    async def process(self, outcome: UUID) -> None:
        """Turn a stored outcome into a result. What fails here is the sweep's to do again."""
        await asyncio.wrap_future(self._pool.submit(process, outcome))

    async def introduce(self, machine: frames.Machine) -> None:
        """Keep what the machine says of itself."""
        said = {
            "os": machine.os[:32],
            "arch": machine.arch[:32],
            "version": machine.version[:64],
            "release_channel": (machine.channel or "")[:64],
            "checksum": (machine.checksum or "")[:128],
        }
        await self.ask(lambda _: channel_keys.introduce(self.who, **{name: text_of(text) for name, text in said.items()}))


def text_of(text: str) -> str:
    """As the database can hold it."""
    return text.replace("\x00", "\ufffd")


def undo(run: Run) -> None:
    """Take back a hand-out, outside any connection's questions."""
    try:
        queue.undo_handout(run.job, token=run.token)
    except Exception:
        log.exception("hand_out_not_undone", job=str(run.job))
    finally:
        connections.close_all()


def process(outcome: UUID) -> None:
    """Process an outcome, outside any connection's questions."""
    try:
        queue.process(outcome)
    except Exception:
        log.exception("outcome_not_processed", outcome=str(outcome))
    finally:
        connections.close_all()
