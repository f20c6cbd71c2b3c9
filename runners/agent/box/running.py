"""Running one command, or two that talk to each other, in whatever vessels a box has."""

from __future__ import annotations

import abc
import contextlib
from dataclasses import replace

from runners.agent.box.descriptors import Descriptors
from runners.agent.box.run import Cancelled, Command, Outcome
from runners.agent.box.vessel import Vessel
from runners.agent.box.watch import Watched, watch


class VesselBox(abc.ABC):
    """A box made of vessels. A run is killed when the thread that started it ends."""

    __slots__ = ()

    @abc.abstractmethod
    def vessel(self, command: Command) -> Vessel:
        """A vessel for the command, not started."""

    def run(self, command: Command, cancelled: Cancelled) -> Outcome:
        with contextlib.ExitStack() as stack:
            watched = self._begin(command, stack)
            watch([watched], cancelled)
            return watched.outcome()

    def converse(self, one: Command, other: Command, cancelled: Cancelled) -> tuple[Outcome, Outcome]:
        with contextlib.ExitStack() as stack:
            with Descriptors() as pipes:
                to_other, from_one = pipes.pipe(pipes)
                to_one, from_other = pipes.pipe(pipes)
                first = self._begin(replace(one, stdin=to_one, stdout=from_one), stack)
                second = self._begin(replace(other, stdin=to_other, stdout=from_other), stack)
            watch([first, second], cancelled, on_end=_let_go)
            return first.outcome(), second.outcome()

    def _begin(self, command: Command, stack: contextlib.ExitStack) -> Watched:
        vessel = self.vessel(command)
        stack.callback(vessel.clear)
        vessel.start()
        watched = Watched(vessel, command)
        stack.callback(watched.discard)
        vessel.go()
        return watched


def _let_go(run: Watched) -> None:
    """The other side sees the end of its input only when the last process holding the pipe is gone."""
    run.vessel.settle()
