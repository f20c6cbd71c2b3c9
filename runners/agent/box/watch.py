"""Watching runs: pumping their output, comparing their use with their limits, ending them."""

from __future__ import annotations

import os
import selectors
import time
from collections.abc import Callable, Sequence

from runners.agent.blob import Blob, Capture
from runners.agent.box.run import Cancelled, Command, Ended, Limits, Outcome, Usage
from runners.agent.box.vessel import Vessel
from runners.agent.errors import Interrupted

STDERR_BYTES = 256 << 10
"""Kept of stderr; the rest is only counted."""

PIPE_BYTES = 1 << 16
UNREAD_BYTES = 1 << 20
"""That may be written to a run after its end without anybody noticing: more is no farewell, and breaks the pipe."""

SHORTEST_S, LONGEST_S = 0.002, 0.1
CORES = os.cpu_count() or 1
FILE_SIZE_SIGNAL = 128 + 25
"""SIGXFSZ: a single file reached the size limit."""


def exceeded(usage: Usage, written: int, limits: Limits) -> Ended | None:
    """Which limit is broken. Memory first: what the kernel killed must not be called slow or talkative."""
    if usage.oom_kills:
        return Ended.MEMORY
    if written + usage.file_bytes > limits.output_bytes:
        return Ended.OUTPUT
    if milliseconds_up(usage.cpu_ns) > limits.cpu_ms:
        return Ended.CPU
    return None


def out_of_time(usage: Usage, waited_ns: int, wall_ns: int) -> Ended:
    """The wall limit passed: by its own idleness, or because it mostly waited for a processor (runner-agent §3.5)."""
    return Ended.STARVED if waited_ns > (wall_ns - usage.cpu_ns) // 2 else Ended.IDLE


def milliseconds_up(nanoseconds: int) -> int:
    return -(-nanoseconds // 1_000_000)


class Unread:
    """The read end of a pipe that is emptied once its reader has ended, so that whoever writes to it need not know."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._left = UNREAD_BYTES

    def take(self) -> bool:
        """Whether more may be taken."""
        piece = os.read(self.fd, PIPE_BYTES)
        self._left -= len(piece)
        return bool(piece) and self._left >= 0

    def close(self) -> None:
        """Any number of times."""
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1


class Watched:
    """One run under watch."""

    def __init__(self, vessel: Vessel, command: Command) -> None:
        self.vessel = vessel
        self.limits = command.limits
        self.written = 0
        self.stopped: Ended | None = None
        self.ended_at: float | None = None
        self.unread: Unread | None = None
        """What is written to it after its end."""

        self.began_ns = time.monotonic_ns()
        self._command = command
        self._stdout = Capture(command.limits.output_bytes)
        self._stderr = bytearray()
        self._sealed = False

    def pump(self, fd: int) -> bool:
        """Take what one pipe holds. False at its end."""
        piece = os.read(fd, PIPE_BYTES)
        self.written += len(piece)
        if fd == self.vessel.stderr:
            self._stderr += piece[: STDERR_BYTES - len(self._stderr)]
        else:
            self._stdout.write(piece)
        return bool(piece)

    def look(self) -> None:
        """Stop the run if it went over a limit."""
        usage = self.vessel.usage()
        self.stopped = exceeded(usage, self.written, self.limits)
        elapsed = time.monotonic_ns() - self.began_ns
        if self.stopped is None and elapsed > self.limits.wall_ms * 1_000_000:
            self.stopped = out_of_time(usage, self.vessel.waited_ns(), elapsed)
        if self.stopped is not None:
            self.end()

    def end(self) -> None:
        self.ended_at = time.monotonic()
        self.vessel.kill()

    def patience_s(self) -> float:
        """How long nobody needs to look: the CPU left, were every core spent on it."""
        left_ns = self.limits.cpu_ms * 1_000_000 - self.vessel.usage().cpu_ns
        return min(max(left_ns / 1e9 / CORES, SHORTEST_S), LONGEST_S)

    def outcome(self) -> Outcome:
        """Settle, take what the pipes still hold, and say how it went."""
        status = self.vessel.settle()
        wall_ns = time.monotonic_ns() - self.began_ns
        for fd in (self.vessel.stdout, self.vessel.stderr):
            while fd is not None and self.written <= self.limits.output_bytes and self.pump(fd):
                pass
        usage = self.vessel.usage()
        ended = self._how(usage, status)
        keep = self._command.keep if ended is Ended.EXITED and status in self._command.keep_after else None
        kept = self.vessel.kept(keep, self._command.keep_bytes) if keep else {}
        return Outcome(
            ended=ended,
            status=status,
            cpu_ms=milliseconds_up(usage.cpu_ns),
            wall_ms=milliseconds_up(wall_ns),
            memory_bytes=usage.memory_bytes,
            stdout=self._seal(),
            stderr=bytes(self._stderr),
            kept=kept,
            ended_at=self.ended_at or time.monotonic(),
        )

    def _how(self, usage: Usage, status: int) -> Ended:
        """The last counters are the exact ones: a limit may have been passed between two looks."""
        last = exceeded(usage, self.written, self.limits)
        if last is Ended.MEMORY or self.stopped is None:
            by_size = Ended.OUTPUT if status == FILE_SIZE_SIGNAL else Ended.EXITED
            return last or by_size
        return self.stopped

    def _seal(self) -> Blob:
        self._sealed = True
        return self._stdout.seal()

    def discard(self) -> None:
        """Give up what was captured, unless an outcome has it."""
        if not self._sealed:
            self._seal().close()


def watch(runs: Sequence[Watched], cancelled: Cancelled, on_end: Callable[[Watched], None] | None = None) -> None:
    """Until every run has ended. `on_end` is called once for each that did. Raises Interrupted, everything killed."""
    with selectors.DefaultSelector() as selector:
        for run in runs:
            for fd in (run.vessel.stdout, run.vessel.stderr, run.vessel.done):
                if fd is not None:
                    selector.register(fd, selectors.EVENT_READ, run)
        under_way = list(runs)
        while under_way:
            _take_events(selector, min(run.patience_s() for run in under_way))
            if cancelled():
                raise Interrupted
            for run in list(under_way):
                if run.ended_at is None:
                    run.look()
                if run.ended_at is not None:
                    under_way.remove(run)
                    _let_go(selector, run, on_end)


def _take_events(selector: selectors.BaseSelector, patience_s: float) -> None:
    for key, _ in selector.select(patience_s):
        run: Watched | Unread = key.data
        if isinstance(run, Unread):
            if not run.take():
                selector.unregister(key.fd)
                run.close()
        elif key.fd == run.vessel.done:
            if run.vessel.ended():
                run.end()
        elif not run.pump(key.fd):
            selector.unregister(key.fd)


def _let_go(selector: selectors.BaseSelector, run: Watched, on_end: Callable[[Watched], None] | None) -> None:
    for fd in (run.vessel.stdout, run.vessel.stderr, run.vessel.done):
        if fd is not None and fd in selector.get_map():
            selector.unregister(fd)
    if on_end:
        on_end(run)
    if run.unread is not None:
        selector.register(run.unread.fd, selectors.EVENT_READ, run.unread)
