"""Control groups: where a run's memory, processes and CPU time are bounded and counted.

One interface for cgroup v2 and v1. A run gets a group of its own, which is gone when the run is.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from runners.agent.errors import InfrastructureFailure, Unavailable

MOUNTS = Path("/sys/fs/cgroup")
NEEDED = ("cpu", "memory", "pids")
PARENT = "assize"
EMPTY_WITHIN_S = 10.0
REMEDY = "run the agent as root, or under systemd with Delegate=yes, or name a group this user may write with --cgroup"


class Group(Protocol):
    """The group of one run."""

    def add(self, pid: int) -> None:
        """Move a process in. What it starts from then on is in too."""

    def pids(self) -> list[int]: ...

    def cpu_ns(self) -> int: ...

    def oom_kills(self) -> int: ...

    def peak_bytes(self) -> int | None: ...

    def kill(self) -> None:
        """SIGKILL to everything inside, once."""

    def remove(self) -> None:
        """Kill and wait until it is empty and gone. Raises InfrastructureFailure when something will not die."""


class Hierarchy(Protocol):
    """Where groups are made."""

    @property
    def version(self) -> int: ...

    def prepare(self) -> None:
        """Make the parent group and prove that it can be used. Raises Unavailable."""

    def create(self, name: str, *, memory_bytes: int, processes: int) -> Group: ...

    def leftovers(self, prefix: str) -> list[Group]:
        """Groups of an earlier agent whose names begin so."""


@dataclass(frozen=True, slots=True)
class Mounted:
    """What /proc says about control groups: the unified mount, and v1 mounts by controller."""

    unified: Path | None
    controllers: dict[str, Path]


def mounted(mountinfo: str) -> Mounted:
    """Read the text of /proc/self/mountinfo."""
    unified: Path | None = None
    controllers: dict[str, Path] = {}
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        point, (kind, _, options) = Path(left.split()[4]), right.split(maxsplit=2)
        if kind == "cgroup2":
            unified = unified or point
        elif kind == "cgroup":
            controllers |= {option: point for option in options.split(",") if option in {"memory", "pids", "cpuacct"}}
    return Mounted(unified, controllers)


def read_number(path: Path) -> int | None:
    """A file holding one number; None for `max` or a file that is not there."""
    try:
        return int(path.read_text())
    except (FileNotFoundError, ValueError):
        return None


def read_table(path: Path) -> dict[str, int]:
    """A file of `name number` lines."""
    pairs = (line.split() for line in path.read_text().splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2}


def read_pids(path: Path) -> list[int]:
    with contextlib.suppress(FileNotFoundError, OSError):
        return [int(word) for word in path.read_text().split()]
    return []


def signal_all(pids: Iterable[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def waited_ns(pids: Iterable[int]) -> int:
    """How long the threads of these processes were runnable without running, by the scheduler's own count."""
    total = 0
    for pid in pids:
        for schedstat in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            with contextlib.suppress(OSError, IndexError, ValueError):
                total += int(schedstat.read_text().split()[1])
    return total


def remove_folders(group: Group, folders: Iterable[Path]) -> None:
    """Empty a group and remove its directories. The kernel lets a group go only after its last zombie."""
    deadline = time.monotonic() + EMPTY_WITHIN_S
    for pause in itertools.chain((0.0005, 0.001, 0.002, 0.005), itertools.repeat(0.01)):
        group.kill()
        if all(_removed(folder) for folder in folders):
            return
        if time.monotonic() > deadline:
            raise InfrastructureFailure(f"a control group will not end: processes {group.pids()}")
        time.sleep(pause)


def _removed(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def unavailable(reason: str) -> Unavailable:
    return Unavailable(reason, REMEDY)
