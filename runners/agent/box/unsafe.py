"""`--unsafe`: no isolation at all, for a demonstration on a machine without bubblewrap.

Programs run as the agent's own user, see its files and can reach the network. CPU time and memory are
looked up in /proc, so a program that means to cheat will.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runners.agent.blob import Blob
from runners.agent.box import artefacts, cgroup, limits
from runners.agent.box.descriptors import Descriptors
from runners.agent.box.run import Command, Usage
from runners.agent.box.running import VesselBox
from runners.agent.box.sweep import remove_tree, session_pids
from runners.agent.box.vessel import Vessel

LOOK_EVERY_S = 0.02
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class UnsafeBox(VesselBox):
    """Runs commands as plain processes in a temporary directory."""

    prlimit: str
    scratch: Path
    isolated: bool = False

    def vessel(self, command: Command) -> Vessel:
        return UnsafeVessel(self, command)


class UnsafeVessel:
    """One process in a session of its own."""

    def __init__(self, box: UnsafeBox, command: Command) -> None:
        self._box = box
        self._command = command
        self._ours = Descriptors()
        self._home = Path(tempfile.mkdtemp(prefix="run-", dir=box.scratch))
        self._process: subprocess.Popen[bytes] | None = None
        self._status: int | None = None
        self._seen = Usage()
        self._seen_at = 0.0
        self.stdout: int | None = None
        self.stderr = self.done = -1

    def start(self) -> None:
        with Descriptors() as theirs:
            self.stderr, stderr = self._ours.pipe(theirs)
            stdout = self._command.stdout
            if stdout is None:
                self.stdout, stdout = self._ours.pipe(theirs)
            stdin = self._command.stdin
            if isinstance(stdin, Blob):
                stdin = theirs.add(stdin.reopened())
            passed = self._place(theirs)
            self._process = subprocess.Popen(
                [*limits.prlimit(self._box.prlimit, self._command), *self._command.argv],
                stdin=subprocess.DEVNULL if stdin is None else stdin,
                stdout=stdout,
                stderr=stderr,
                pass_fds=passed,
                env=dict(self._command.environ),
                cwd=self._home,
                start_new_session=True,
            )
        self.done = self._ours.add(os.pidfd_open(self._process.pid))

    def _place(self, theirs: Descriptors) -> list[int]:
        passed = []
        for placed, mode in ((self._command.files, 0o555), (self._command.copies, 0o755)):
            for name, blob in placed.items():
                path = self._home / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(blob.read())
                path.chmod(mode)
        for name in self._command.folders:
            (self._home / name).mkdir(parents=True, exist_ok=True)
        for name, blob in self._command.data.items():
            passed.append(theirs.add(blob.reopened()))
            (self._home / name).symlink_to(f"/proc/self/fd/{passed[-1]}")
        return passed

    def go(self) -> None:
        """It has begun already."""

    def usage(self) -> Usage:
        now = time.monotonic()
        if self._status is None and self._process and now - self._seen_at > LOOK_EVERY_S:
            self._seen_at = now
            self._seen = self._look(session_pids(self._process.pid))
        return self._seen

    def _look(self, pids: list[int]) -> Usage:
        ticks = memory = 0
        for pid in pids:
            with contextlib.suppress(OSError, IndexError, ValueError):
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                ticks += sum(int(field) for field in fields[11:15])
                memory += int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
        return self._with(ticks * 1_000_000_000 // TICKS, memory)

    def _with(self, cpu_ns: int, memory: int) -> Usage:
        peak = max(memory, self._seen.memory_bytes or 0)
        killed = int(memory > self._command.limits.memory_bytes or self._seen.oom_kills > 0)
        return Usage(cpu_ns=max(cpu_ns, self._seen.cpu_ns), oom_kills=killed, memory_bytes=peak)

    def waited_ns(self) -> int:
        return cgroup.waited_ns(session_pids(self._process.pid)) if self._process else 0

    def ended(self) -> bool:
        return True

    def kill(self) -> None:
        if self._process and self._status is None:
            while members := session_pids(self._process.pid):
                cgroup.signal_all(members)

    def settle(self) -> int:
        """Wait for the command before the kill when it has ended by itself, to learn its own exit code."""
        if self._process and self._status is None:
            self.kill()
            _, raw, used = os.wait4(self._process.pid, 0)
            code = os.waitstatus_to_exitcode(raw)
            self._process.returncode = code
            # Its ru_maxrss also knows the agent's own size, from before the program was started: no use.
            self._seen = self._with(int((used.ru_utime + used.ru_stime) * 1e9), 0)
            self._status = code if code >= 0 else 128 - code
        return self._status if self._status is not None else 128 + signal.SIGKILL

    def kept(self, name: str, limit: int) -> Mapping[str, Blob]:
        root = os.open(self._home, artefacts.FOLDER)
        try:
            return artefacts.gather(root, name, limit)
        finally:
            os.close(root)

    def clear(self) -> None:
        self.settle()
        self._ours.close()
        remove_tree(self._home)
