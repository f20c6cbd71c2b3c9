"""Resource limits set before bubblewrap starts, by `prlimit`: once inside, raising or reading them would need a capability."""

from __future__ import annotations

import resource
from pathlib import Path

from runners.agent.box.run import SLACK_BYTES, Command, Limits

CORE_PATTERN = Path("/proc/sys/kernel/core_pattern")
OPEN_FILES = 4096


def core_bytes(pattern: str) -> int:
    """A pipe is fed even under a limit of 0; 1 is the number that tells the kernel not to (runner-agent §3.7)."""
    return 1 if pattern.startswith("|") else 0


def wanted(limits: Limits, *, largest_bytes: int = 0) -> dict[str, int]:
    """prlimit's names and our numbers. CPU is only a backstop: the control group counts it.

    `largest_bytes` is the size of the largest file that bwrap itself has to write before the command begins: a program
    may be larger than what it may write. The file system's own size bounds what the command writes.
    """
    return {
        "core": core_bytes(CORE_PATTERN.read_text()),
        "cpu": limits.cpu_ms // 1000 + 2,
        "fsize": max(limits.output_bytes, largest_bytes) + SLACK_BYTES,
        "nofile": OPEN_FILES,
        # Deep recursion is limited by memory, like everything else that uses it.
        "stack": limits.memory_bytes,
        "memlock": 1 << 16,
        "msgqueue": 0,
    }


NUMBERS = {
    "core": resource.RLIMIT_CORE,
    "cpu": resource.RLIMIT_CPU,
    "fsize": resource.RLIMIT_FSIZE,
    "nofile": resource.RLIMIT_NOFILE,
    "stack": resource.RLIMIT_STACK,
    "memlock": resource.RLIMIT_MEMLOCK,
    "msgqueue": resource.RLIMIT_MSGQUEUE,
}


def prlimit(program: str, command: Command) -> list[str]:
    """The command line that sets the limits and becomes what follows it. Never above what the agent itself may have."""
    largest = max((blob.size for blob in (*command.files.values(), *command.copies.values())), default=0)
    return [program, *(f"--{name}={_within(name, value)}" for name, value in wanted(command.limits, largest_bytes=largest).items())]


def _within(name: str, value: int) -> int:
    hard = resource.getrlimit(NUMBERS[name])[1]
    return value if hard == resource.RLIM_INFINITY else min(value, hard)
