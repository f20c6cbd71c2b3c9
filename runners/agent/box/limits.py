"""Resource limits set before bubblewrap starts, by `prlimit`: once inside, raising or reading them would need a capability."""

from __future__ import annotations

import resource
from pathlib import Path

from runners.agent.box.run import SLACK_BYTES, Limits

CORE_PATTERN = Path("/proc/sys/kernel/core_pattern")
OPEN_FILES = 4096


def core_bytes(pattern: str) -> int:
    """A pipe is fed even under a limit of 0; 1 is the number that tells the kernel not to (runner-agent §3.7)."""
    return 1 if pattern.startswith("|") else 0


def wanted(limits: Limits) -> dict[str, int]:
    """prlimit's names and our numbers. CPU is only a backstop: the control group counts it."""
    return {
        "core": core_bytes(CORE_PATTERN.read_text()),
        "cpu": limits.cpu_ms // 1000 + 2,
        "fsize": limits.output_bytes + SLACK_BYTES,
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


def prlimit(program: str, limits: Limits) -> list[str]:
    """The command line that sets the limits and becomes what follows it. Never above what the agent itself may have."""
    return [program, *(f"--{name}={_within(name, value)}" for name, value in wanted(limits).items())]


def _within(name: str, value: int) -> int:
    hard = resource.getrlimit(NUMBERS[name])[1]
    return value if hard == resource.RLIM_INFINITY else min(value, hard)
