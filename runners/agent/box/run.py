"""What is asked of a box, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from runners.agent.blob import Blob

HOME = "/box"
"""The working directory inside: the only writable place, a file system in memory of bounded size."""

WALL_FACTOR, WALL_MS = 3, 3000
PROCESSES = 128
"""Enough for a Java or Node runtime on a machine of many cores; a fork bomb ends here."""

SLACK_BYTES = 1 << 20
"""Room beyond the output limit, so that going over it can be seen instead of being refused quietly."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may use before it is stopped."""

    cpu_ms: int
    memory_bytes: int
    output_bytes: int
    """stdout, stderr and files together."""

    extra_wall_ms: int = 0
    processes: int = PROCESSES

    @property
    def wall_ms(self) -> int:
        """Far above the CPU limit, so that a busy machine is not taken for a slow program (runner-agent §3.5)."""
        return WALL_FACTOR * self.cpu_ms + WALL_MS + self.extra_wall_ms


@dataclass(frozen=True, slots=True)
class Command:
    """One program to run. Blobs stay the caller's to close."""

    argv: tuple[str, ...]
    limits: Limits
    files: Mapping[str, Blob] = field(default_factory=dict)
    """Placed read-only in the working directory, by relative name."""

    data: Mapping[str, Blob] = field(default_factory=dict)
    """Readable under a relative name without being copied: large inputs of a checker."""

    copies: Mapping[str, Blob] = field(default_factory=dict)
    """Placed in the working directory as files of the command's own, which it may change."""

    folders: tuple[str, ...] = ()
    """Made in the working directory, empty."""

    stdin: Blob | int | None = None
    """A blob, a pipe end, or nothing (/dev/null)."""

    stdout: int | None = None
    """A pipe end to write to; None to capture."""

    environ: Mapping[str, str] = field(default_factory=dict)
    keep: str | None = None
    """A file or folder of the working directory to bring out afterwards."""

    keep_bytes: int = 256 << 20
    keep_after: frozenset[int] = frozenset({0})
    """The exit codes after which there is something to bring out."""

    spares_writer: bool = False
    """In a dialogue: whoever writes to this command may go on when it no longer reads, instead of breaking a pipe.
    Up to a bound: what writes for ever must end."""


class Ended(StrEnum):
    """How a run came to its end."""

    EXITED = "exited"
    """By itself, well or badly."""

    CPU = "cpu"
    """Stopped: more CPU time than allowed."""

    IDLE = "idle"
    """Stopped: the wall limit passed though the CPU limit was not reached."""

    STARVED = "starved"
    """Stopped as IDLE is, but it had mostly waited for a processor: the machine's fault."""

    MEMORY = "memory"
    """The kernel killed for memory."""

    OUTPUT = "output"
    """Stopped: more output than allowed."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Counters of a run, since its start."""

    cpu_ns: int = 0
    oom_kills: int = 0
    file_bytes: int = 0
    memory_bytes: int | None = None
    """The highest seen, page cache included."""

    waited_ns: int = 0
    """Runnable but without a processor, as far as living threads tell."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One finished run. The caller closes `stdout` and what was kept."""

    ended: Ended
    status: int
    """Exit code as a shell gives it: 128 + signal for a death by signal."""

    cpu_ms: int
    """CPU time of everything the run started, rounded up."""

    wall_ms: int
    memory_bytes: int | None
    stdout: Blob
    stderr: bytes
    kept: Mapping[str, Blob]
    ended_at: float
    """On the monotonic clock: who ended first in a conversation."""

    def close(self) -> None:
        for blob in (self.stdout, *self.kept.values()):
            blob.close()


Cancelled = Callable[[], bool]
"""True once the judging must stop; asked many times a second."""


class Box(Protocol):
    """A place to run strangers' programs."""

    @property
    def isolated(self) -> bool:
        """False for `--unsafe`."""

    def run(self, command: Command, cancelled: Cancelled) -> Outcome:
        """Run to the end. Raises Interrupted when cancelled, InfrastructureFailure when the box itself broke."""

    def converse(self, one: Command, other: Command, cancelled: Cancelled) -> tuple[Outcome, Outcome]:
        """Run two programs, each reading what the other writes, until both have ended.

        Neither sees that the other is gone before its end was noted, so `ended_at` tells who ended first.
        """
