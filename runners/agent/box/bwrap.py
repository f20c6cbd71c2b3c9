"""The box proper: bubblewrap's namespaces around a control group, resource limits and a seccomp filter.

The order of a start matters. bwrap builds the namespaces and then waits (`--block-fd`); the agent takes
hold of the sandbox's only writable directory, moves the process into the run's control group and lets
go. So the set-up costs the run no CPU time, nothing of the run is ever outside its group, and the
directory outlives the run until the agent has looked at it, without ever being on the agent's disk.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from runners.agent.blob import Blob
from runners.agent.box import artefacts, cgroup, limits
from runners.agent.box.arguments import arguments
from runners.agent.box.descriptors import Descriptors
from runners.agent.box.run import HOME, Command, Usage
from runners.agent.box.running import VesselBox
from runners.agent.box.vessel import Vessel
from runners.agent.errors import InfrastructureFailure
from runners.agent.printable import first_line

READY_WITHIN_S = 20.0
SETTLE_WITHIN_S = 10.0
NOT_STARTED = 127


@dataclass(frozen=True, slots=True)
class BwrapBox(VesselBox):
    """Runs commands in bubblewrap. Safe for several threads."""

    bwrap: str
    prlimit: str
    hierarchy: cgroup.Hierarchy
    key: str
    """Begins every group's name, so that the next start of the same agent can find what was left."""

    uid: int | None
    """Whom a root agent becomes before bwrap; None when the agent is no root."""

    isolated: bool = True
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    def vessel(self, command: Command) -> Vessel:
        return BwrapVessel(self, command, name=f"{self.key}.{next(self._numbers)}")


class BwrapVessel:
    """One bwrap and what runs in it."""

    def __init__(self, box: BwrapBox, command: Command, *, name: str) -> None:
        self._box = box
        self._command = command
        self._name = name
        self._ours = Descriptors()
        self._group: cgroup.Group | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._init = self._home = self._gate = -1
        self._base_bytes = 0
        self._said = b""
        self._over = False
        self._settled = False
        self.stdout: int | None = None
        self.stderr = self.done = -1

    def start(self) -> None:
        """Up to the moment before the command begins. `clear` must follow, whatever happens."""
        with Descriptors() as theirs:
            self._spawn(theirs)
        pid = self._child_pid()
        self._init = self._ours.add(os.pidfd_open(pid))
        self._take_home(pid)
        wanted = self._command.limits
        self._group = self._box.hierarchy.create(self._name, memory_bytes=wanted.memory_bytes, processes=wanted.processes)
        self._group.add(pid)

    def _spawn(self, theirs: Descriptors) -> None:
        self.stderr, stderr = self._ours.pipe(theirs)
        stdout = self._command.stdout
        if stdout is None:
            self.stdout, stdout = self._ours.pipe(theirs)
        stdin = self._command.stdin
        if isinstance(stdin, Blob):
            stdin = theirs.add(stdin.reopened())
        passed = Descriptors()
        argv = [*limits.prlimit(self._box.prlimit, self._command), *self._arguments(passed)]
        theirs.numbers += passed.numbers
        uid = self._box.uid
        self._process = subprocess.Popen(
            argv,
            user=uid,
            group=uid,
            extra_groups=None if uid is None else [],
            stdin=subprocess.DEVNULL if stdin is None else stdin,
            stdout=stdout,
            stderr=stderr,
            pass_fds=passed.numbers,
            # What bwrap has in its own environment can be read from inside, at /proc/1/environ.
            env={},
            cwd="/",
        )

    def _arguments(self, passed: Descriptors) -> list[str]:
        """bwrap's command line. `passed` collects the descriptors it names."""
        self.done, status = self._ours.pipe(passed)
        gate, self._gate = passed.pipe(Descriptors())
        inside = arguments(self._command, passed, host_name=self._name)
        return [self._box.bwrap, *inside, "--block-fd", str(gate), "--json-status-fd", str(status), "--", *self._command.argv]

    def _child_pid(self) -> int:
        """The sandbox's first process, as bwrap tells it."""
        deadline = time.monotonic() + READY_WITHIN_S
        while b"\n" not in self._said:
            if not select.select([self.done], [], [], max(deadline - time.monotonic(), 0))[0] or not self._hear():
                raise self._broken()
        return int(json.loads(self._said.partition(b"\n")[0])["child-pid"])

    def _hear(self) -> bool:
        piece = os.read(self.done, 4096)
        self._said += piece
        return bool(piece)

    def _take_home(self, pid: int) -> None:
        """Hold the working directory. It can be reached once bwrap has finished building, not before."""
        deadline = time.monotonic() + READY_WITHIN_S
        while time.monotonic() < deadline:
            with contextlib.suppress(FileNotFoundError):
                self._home = self._ours.add(os.open(f"/proc/{pid}/root{HOME}", artefacts.FOLDER))
                self._base_bytes = self._space()
                return
            if self._process is None or self._process.poll() is not None:
                break
            time.sleep(0.0003)
        raise self._broken()

    def _broken(self) -> InfrastructureFailure:
        self.kill()
        said = b""
        if select.select([self.stderr], [], [], 1)[0]:
            said = os.read(self.stderr, 4096)
        return InfrastructureFailure(f"the box did not start: {first_line(said) or 'no reason given'}")

    def go(self) -> None:
        os.close(self._gate)
        self._gate = -1

    def usage(self) -> Usage:
        if self._group is None:
            return Usage()
        return Usage(
            cpu_ns=self._group.cpu_ns(),
            oom_kills=self._group.oom_kills(),
            file_bytes=max(self._space() - self._base_bytes, 0),
            memory_bytes=self._group.peak_bytes(),
        )

    def _space(self) -> int:
        held = os.fstatvfs(self._home)
        return (held.f_blocks - held.f_bfree) * held.f_frsize

    def waited_ns(self) -> int:
        return cgroup.waited_ns(self._group.pids()) if self._group else 0

    def ended(self) -> bool:
        self._over = not self._hear() or b"exit-code" in self._said
        return self._over

    def kill(self) -> None:
        """The first process of a process namespace takes all others with it, at once and wherever they hide."""
        for end in (self._kill_init, self._kill_bwrap):
            with contextlib.suppress(ProcessLookupError):
                end()

    def _kill_init(self) -> None:
        if self._init >= 0:
            signal.pidfd_send_signal(self._init, signal.SIGKILL)

    def _kill_bwrap(self) -> None:
        """Before the first process is known bwrap itself is all there is; it kills its child when it dies."""
        if self._process and self._init < 0:
            self._process.kill()

    def settle(self) -> int:
        if not self._settled:
            self.kill()
            self._wait()
            while self._hear():
                pass
            self._settled = True
        said = [json.loads(line) for line in self._said.splitlines() if b"exit-code" in line]
        if said:
            return int(said[0]["exit-code"])
        # bwrap tells no exit code of a command that it could not start.
        return NOT_STARTED if self._over else 128 + signal.SIGKILL

    def _wait(self) -> None:
        """bwrap first, then the rest of its group: only then are the counters final."""
        deadline = time.monotonic() + SETTLE_WITHIN_S
        try:
            if self._process:
                self._process.wait(SETTLE_WITHIN_S)
        except subprocess.TimeoutExpired as error:
            raise InfrastructureFailure("bwrap does not end") from error
        while self._group and self._group.pids():
            if time.monotonic() > deadline:
                raise InfrastructureFailure(f"processes of a run do not die: {self._group.pids()}")
            time.sleep(0.0005)

    def kept(self, name: str, limit: int) -> Mapping[str, Blob]:
        return artefacts.gather(self._home, name, limit)

    def clear(self) -> None:
        self.kill()
        if self._process:
            self._process.wait()
        if self._gate >= 0:
            self.go()
        if self._group:
            self._group.remove()
            self._group = None
        self._ours.close()
