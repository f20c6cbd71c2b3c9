"""Proof, at every start, that the box holds what it promises on this machine."""

from __future__ import annotations

import re
import subprocess

from runners.agent.box.bwrap import BwrapBox
from runners.agent.box.run import Command, Ended, Limits, Outcome
from runners.agent.errors import InfrastructureFailure, Unavailable

OLDEST = (0, 8)
PROBE = Limits(cpu_ms=2000, memory_bytes=64 << 20, output_bytes=1 << 20)
LOOK_AROUND = "cat /proc/self/status /proc/net/dev; tr '\\0' '\\n' </proc/1/environ; touch /usr/x /x 2>/dev/null && echo WRITABLE; exit 7"
REMEDY_NAMESPACES = "allow unprivileged user namespaces: sysctl user.max_user_namespaces=10000, and on Ubuntu an AppArmor profile for bwrap"
REMEDY_UPGRADE = "install bubblewrap 0.8 or newer"


def prove(box: BwrapBox) -> None:
    """Raises Unavailable with what does not hold and how to mend it."""
    version = bwrap_version(box.bwrap)
    if version < OLDEST:
        raise Unavailable(f"bubblewrap {'.'.join(map(str, version))} is too old", REMEDY_UPGRADE)
    outcome = _probe(box, LOOK_AROUND)
    said = outcome.stdout.read().decode(errors="replace")
    outcome.close()
    if outcome.status != 7 or outcome.ended is not Ended.EXITED:
        raise Unavailable(f"a program in the box ended with {outcome.status} instead of 7", REMEDY_NAMESPACES)
    for wrong, remedy in _wrongs(said):
        raise Unavailable(wrong, remedy)
    _prove_memory(box)


def bwrap_version(program: str) -> tuple[int, ...]:
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    return tuple(int(number) for number in re.findall(r"\d+", said)[:3])


def _probe(box: BwrapBox, script: str) -> Outcome:
    try:
        return box.run(Command(("/bin/sh", "-c", script), PROBE), lambda: False)
    except InfrastructureFailure as error:
        raise Unavailable(str(error), REMEDY_NAMESPACES) from error
    except OSError as error:
        raise Unavailable(f"the box cannot be set up: {error}", "run `python -m runners.agent doctor` as the user who judges") from error


def _wrongs(said: str) -> list[tuple[str, str]]:
    """What a look around inside must not find."""
    wanted = {"Seccomp": "2", "NoNewPrivs": "1", "CapEff": "0000000000000000", "CapBnd": "0000000000000000"}
    shown = dict(re.findall(r"^(\w+):\s*(\S+)", said, re.MULTILINE))
    wrongs = [
        (f"in the box {name} is {shown.get(name)} instead of {value}", "use a kernel with seccomp and a distribution's bubblewrap")
        for name, value in wanted.items()
        if shown.get(name) != value
    ]
    interfaces = re.findall(r"^\s*(\S+):(?:\s+\d+){16}\s*$", said, re.MULTILINE)
    if set(interfaces) - {"lo"}:
        wrongs.append((f"the box sees the network interfaces {', '.join(interfaces)}", REMEDY_NAMESPACES))
    if "WRITABLE" in said:
        wrongs.append(("the box can write outside its own directory", REMEDY_UPGRADE))
    return wrongs


def _prove_memory(box: BwrapBox) -> None:
    """A program twice as large as its limit must be killed for it, and only the control group can see that."""
    outcome = _probe(box, "head -c 200000000 /dev/zero | tail")
    outcome.close()
    if outcome.ended is not Ended.MEMORY:
        raise Unavailable(f"a program over its memory limit ended as {outcome.ended}", "enable the kernel's memory control group")
