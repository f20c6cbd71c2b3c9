"""`agent doctor`: every probe with its result, and with its remedy where it fails (runner-agent §1)."""

from __future__ import annotations

import contextlib
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from runners.agent.blob import Blob, holding
from runners.agent.box import Box, BoxSettings, Command, Ended, Limits, open_box
from runners.agent.box.cgroup import NEEDED
from runners.agent.box.hierarchy import find_hierarchy
from runners.agent.box.seccomp import program
from runners.agent.box.sweep import remove_tree
from runners.agent.errors import AgentError, Unavailable
from runners.agent.languages import TABLE, Language, Toolchains, find_toolchains
from runners.agent.programs import Source, build

STARTS = 30
START_TARGET_MS = 10.0
HELLO = {
    "c": '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n',
    "cpp": '#include <iostream>\nint main() { std::cout << "hello\\n"; }\n',
    "python": 'print("hello")\n',
    "java": 'public class main { public static void main(String[] a) { System.out.println("hello"); } }\n',
    "javascript": 'console.log("hello")\n',
}
LIMITS = Limits(cpu_ms=10_000, memory_bytes=512 << 20, output_bytes=1 << 20)


@dataclass(frozen=True, slots=True)
class Finding:
    """One probe's result."""

    what: str
    good: bool
    said: str
    remedy: str = ""

    def __str__(self) -> str:
        mark = "ok  " if self.good else "BAD "
        return f"{mark} {self.what}: {self.said}" + (f"\n      remedy: {self.remedy}" if self.remedy and not self.good else "")


def examine(settings: BoxSettings, out: TextIO) -> int:
    """Write the findings; 0 when this machine can judge, 2 when it cannot. A missing language is no failure."""
    good = True
    for finding in findings(settings):
        out.write(f"{finding}\n")
        out.flush()
        good = good and finding.good
    out.write("This machine can judge.\n" if good else "This machine cannot judge.\n")
    return 0 if good else 2


def findings(settings: BoxSettings) -> Iterator[Finding]:
    """The parts first, so that a failure names the part; then the box as a whole, its cost, and the languages."""
    if not settings.unsafe:
        yield _tried("libseccomp", lambda: f"filter of {len(program())} bytes")
        yield _tried("control groups", lambda: _control_groups(settings))
    try:
        box = open_box(settings)
    except Unavailable as error:
        yield Finding("box", False, error.reason, error.remedy)
        return
    yield Finding("box", True, "isolated, self-test passed" if box.isolated else "UNSAFE: no isolation")
    yield _cost(box)
    toolchains = find_toolchains()
    for language in TABLE:
        yield _language(box, toolchains, language)


def _tried(what: str, probe: Callable[[], str]) -> Finding:
    try:
        return Finding(what, True, probe())
    except Unavailable as error:
        return Finding(what, False, error.reason, error.remedy)


def _control_groups(settings: BoxSettings) -> str:
    hierarchy = find_hierarchy(settings.cgroup)
    hierarchy.prepare()
    return f"v{hierarchy.version}, {', '.join(NEEDED)}"


def _cost(box: Box) -> Finding:
    """What a start costs in time, and what the box adds to a run's CPU time (runner-agent §3.9)."""
    wall, cpu = [], []
    for _ in range(STARTS):
        began = time.monotonic()
        outcome = box.run(Command(("/bin/true",), LIMITS), lambda: False)
        wall.append((time.monotonic() - began) * 1000)
        cpu.append(outcome.cpu_ms)
        outcome.close()
    median = statistics.median(wall)
    said = f"median {median:.1f} ms a start (aim: {START_TARGET_MS:.0f}), {statistics.median(cpu):.0f} ms CPU for doing nothing"
    return Finding("cost", True, said if median <= START_TARGET_MS else f"{said}; is the machine busy?")


def _language(box: Box, toolchains: Toolchains, language: Language) -> Finding:
    """Really compiled and run, in the box: a compiler that is there need not work."""
    if language.id not in toolchains.languages:
        missing = ", ".join(tool for tool in language.tools if tool not in toolchains.paths)
        return Finding(f"language {language.id}", True, f"not here: {missing} not found; jobs in it are refused")
    source = Blob.of(HELLO[language.family].encode())
    name = f"main{language.extensions[0]}"
    try:
        with holding(source):
            built = build(box, toolchains, language, Source(name, {name: source}), lambda: False)
        if built.program is None:
            return Finding(f"language {language.id}", False, f"does not compile: {built.log[:300]}", "reinstall its compiler")
        argv = built.program.command(toolchains, LIMITS.memory_bytes)
        outcome = box.run(Command(argv, LIMITS, files=built.program.files), lambda: False)
        built.program.close()
    except AgentError as error:
        return Finding(f"language {language.id}", False, str(error), "see above")
    with holding(outcome.stdout):
        if outcome.ended is Ended.EXITED and outcome.stdout.read() == b"hello\n":
            return Finding(f"language {language.id}", True, f"works, {outcome.cpu_ms} ms to say hello")
    said = outcome.stderr.decode(errors="replace")[:300]
    return Finding(f"language {language.id}", False, f"{outcome.ended} with {outcome.status}: {said}", "reinstall its run time")


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A folder for one command."""
    folder = Path(tempfile.mkdtemp(prefix="assize-agent-"))
    try:
        yield folder
    finally:
        remove_tree(folder)
