"""Who is to blame for how a run ended (runner-agent §3.4, §3.5)."""

import time
from pathlib import Path

import pytest

from runners.agent.blob import Blob
from runners.agent.box import Ended, Limits, Outcome, selftest
from runners.agent.box.bwrap import BwrapBox
from runners.agent.box.hierarchy import find_hierarchy
from runners.agent.box.run import Usage
from runners.agent.box.watch import exceeded, milliseconds_up, out_of_time
from runners.agent.errors import InfrastructureFailure, Unavailable
from runners.agent.standard_io.judge import Judge

LIMITS = Limits(cpu_ms=100, memory_bytes=1, output_bytes=1000)


@pytest.mark.parametrize(
    ("usage", "written", "ended"),
    [
        (Usage(cpu_ns=100_000_000), 0, None),
        (Usage(cpu_ns=100_000_001), 0, Ended.CPU),
        (Usage(), 1000, None),
        (Usage(), 1001, Ended.OUTPUT),
        (Usage(file_bytes=500), 501, Ended.OUTPUT),
        (Usage(memory_bytes=10**12), 0, None),
        (Usage(oom_kills=1), 0, Ended.MEMORY),
        (Usage(oom_kills=1, cpu_ns=10**12), 5000, Ended.MEMORY),
    ],
)
def test_a_limit_is_broken_one_past_it_and_memory_comes_first(usage, written, ended):
    assert exceeded(usage, written, LIMITS) is ended


def test_time_is_rounded_up():
    assert [milliseconds_up(ns) for ns in (0, 1, 999_999, 1_000_000, 1_000_001)] == [0, 1, 1, 1, 2]


def test_the_wall_is_three_times_the_limit_and_three_seconds():
    assert Limits(cpu_ms=2000, memory_bytes=1, output_bytes=1).wall_ms == 9000


@pytest.mark.parametrize(
    ("cpu_ms", "waited_ms", "ended"),
    [(10, 0, Ended.IDLE), (10, 100, Ended.IDLE), (10, 700, Ended.STARVED), (500, 300, Ended.STARVED), (500, 200, Ended.IDLE)],
)
def test_a_run_that_mostly_waited_for_a_processor_is_told_from_an_idle_one(cpu_ms, waited_ms, ended):
    assert out_of_time(Usage(cpu_ns=cpu_ms * 10**6), waited_ms * 10**6, 1000 * 10**6) is ended


class Starving:
    """A box whose first runs get no processor."""

    isolated = True

    def __init__(self, times):
        self.left = times
        self.runs = 0

    def run(self, _command, _cancelled):
        self.runs += 1
        self.left -= 1
        ended = Ended.STARVED if self.left >= 0 else Ended.EXITED
        return Outcome(ended, 0, 1, 1, None, Blob.of(b"3"), b"", {}, time.monotonic())


def steadily(box):
    judge = Judge(box, None, None, lambda: False)  # type: ignore[arg-type]
    return judge.steadily(lambda: (box.run(None, None),))


def test_a_starved_run_is_made_once_more():
    box = Starving(1)
    (outcome,) = steadily(box)

    assert (outcome.ended, box.runs) == (Ended.EXITED, 2)
    outcome.close()


def test_a_run_that_starves_twice_is_the_machines_fault_and_no_verdict():
    with pytest.raises(InfrastructureFailure, match="machine overloaded"):
        steadily(Starving(9))


def test_an_old_bubblewrap_is_refused(monkeypatch):
    monkeypatch.setattr(selftest, "bwrap_version", lambda _: (0, 7, 1))
    with pytest.raises(Unavailable, match="too old"):
        selftest.prove(BwrapBox("bwrap", "prlimit", find_hierarchy(), "x", None))


STATUS = "Seccomp:\t2\nNoNewPrivs:\t1\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\n    lo: " + "0 " * 16 + "\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Seccomp:\t2", "Seccomp:\t0"),
        ("NoNewPrivs:\t1", "NoNewPrivs:\t0"),
        ("CapEff:\t0000000000000000", "CapEff:\t00000000a80425fb"),
        ("    lo:", "  eth0: " + "7 " * 16 + "\n    lo:"),
        ("    lo:", "WRITABLE\n    lo:"),
    ],
)
def test_the_self_test_sees_every_promise_that_is_not_kept(before, after):
    assert selftest._wrongs(STATUS) == []
    assert len(selftest._wrongs(STATUS.replace(before, after))) == 1


def test_a_machine_where_bubblewrap_does_nothing_is_refused(tmp_path):
    broken = tmp_path / "bwrap"
    broken.write_text(
        "#!/bin/sh\n[ \"$1\" = --version ] && echo bubblewrap 0.8.0 && exit 0\necho 'bwrap: no namespaces here' >&2; exit 1\n"
    )
    broken.chmod(0o755)
    for folder in (tmp_path, *list(tmp_path.parents)[:3]):
        folder.chmod(folder.stat().st_mode | 0o055)
    hierarchy = find_hierarchy()
    hierarchy.prepare()
    with pytest.raises(Unavailable, match="no namespaces here"):
        selftest.prove(BwrapBox(str(broken), str(Path("/usr/bin/prlimit")), hierarchy, "x", None))
