"""Running one command, or two that talk to each other, in whatever vessels a box has."""

from __future__ import annotations

import abc
import contextlib
import os
from dataclasses import replace

from runners.agent.box.descriptors import Descriptors
from runners.agent.box.run import Cancelled, Command, Outcome
from runners.agent.box.vessel import Vessel
from runners.agent.box.watch import Unread, Watched, watch


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
            ours, theirs = stack.enter_context(Descriptors()), stack.enter_context(Descriptors())
            to_other, from_one = theirs.pipe(ours)
            to_one, from_other = ours.pipe(theirs)
            first = self._begin(replace(one, stdin=to_one, stdout=from_one), stack)
            second = self._begin(replace(other, stdin=to_other, stdout=from_other), stack)

            def let_go(run: Watched) -> None:
                """Every pipe stays whole until the end of who holds it was noted, so that no end causes another unseen."""
                run.vessel.settle()
                if run is first and one.spares_writer:
                    run.unread = Unread(os.dup(to_one))
                    stack.callback(run.unread.close)
                (ours if run is first else theirs).close()

            watch([first, second], cancelled, on_end=let_go)
            with contextlib.ExitStack() as undo:
                one_ended = first.outcome()
                undo.callback(one_ended.close)
                other_ended = second.outcome()
                undo.pop_all()
            return one_ended, other_ended

    def _begin(self, command: Command, stack: contextlib.ExitStack) -> Watched:
        vessel = self.vessel(command)
        stack.callback(vessel.clear)
        vessel.start()
        watched = Watched(vessel, command)
        stack.callback(watched.discard)
        vessel.go()
        return watched
