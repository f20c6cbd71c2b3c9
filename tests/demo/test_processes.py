"""The programs of the demo leave nothing behind: contests/demo/processes.py and cast.py."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from contests.demo import processes
from contests.demo.cast import NAMES, Cast, alone_in, free_port, is_free
from contests.demo.processes import Child, Died
from runners.agent.identity import load_identity

SLEEP = "import time; print('ready', flush=True); time.sleep(60)"
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(60)"


def child(tmp_path, code, name="It"):
    started = Child(name, [sys.executable, "-c", code], log=tmp_path / "log", env={"MARK": "of the demo"})
    until = time.monotonic() + 10
    while "ready" not in started.last_words() and started.exit_code is None and time.monotonic() < until:
        time.sleep(0.01)
    return started


def is_soon_gone(pid):
    """Whether the process ends; one that nobody has asked after yet has ended too."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False


def test_a_program_that_is_asked_to_stop_is_gone(tmp_path):
    asked = child(tmp_path, SLEEP)

    asked.stop()
    asked.stop()

    assert asked.exit_code == -signal.SIGTERM


def test_a_program_that_will_not_stop_is_killed_with_all_it_started(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "STOP_SECONDS", 0.2)
    starting = f"import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', {SLEEP!r}]).pid, flush=True)"
    stubborn = child(tmp_path, f"{starting}; {STUBBORN}")
    grandchild = int(stubborn.last_words().split()[0])

    stubborn.stop()

    assert stubborn.exit_code == -signal.SIGKILL
    assert is_soon_gone(grandchild)


def test_a_program_that_dies_is_told_with_its_last_words(tmp_path):
    dead = child(tmp_path, "import sys; print('no disk'); sys.exit(3)", name="The server")
    dead._process.wait()

    with pytest.raises(Died, match=r"(?s)The server ended with 3.*no disk"):
        dead.must_live()


def test_a_program_sees_its_own_environment_and_the_demos(tmp_path):
    seen = child(tmp_path, "import os; print(os.environ['MARK'], os.environ['PATH'] != '', 'ready')")

    assert "of the demo True" in seen.last_words()
    seen.stop()


def test_ctrl_c_reaches_only_who_tells_the_others(tmp_path):
    own = child(tmp_path, SLEEP)

    assert os.getpgid(own._process.pid) != os.getpgid(0)
    own.kill()


def test_a_demo_that_is_killed_takes_its_programs_along(tmp_path):
    code = f"""
import os, pathlib, sys, time
os.environ |= {{"ASSIZE_TESTING": "1", "DJANGO_SETTINGS_MODULE": "config.settings"}}
from contests.demo.processes import Child
started = Child("It", [sys.executable, "-c", {SLEEP!r}], log=pathlib.Path({str(tmp_path / "log")!r}), env={{}})
print(started._process.pid, flush=True)
time.sleep(60)
"""
    demo = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert demo.stdout is not None
    started = int(demo.stdout.readline())

    demo.kill()
    demo.wait()
    demo.stdout.close()

    assert is_soon_gone(started)


def test_a_port_that_was_asked_for_and_is_in_use_is_refused():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(Died, match=f"Port {port} is in use"):
            free_port(port, usual=8000)
        assert port < free_port(None, usual=port) < port + 1000


def test_two_demos_do_not_share_a_folder(tmp_path):
    with alone_in(tmp_path / "demo"):
        assert not is_free(tmp_path / "demo" / "lock")
        with pytest.raises(Died, match="Another demo"), alone_in(tmp_path / "demo"):
            pass

    assert is_free(tmp_path / "demo" / "lock")


class Operator:
    """Knows the runners' keys from an earlier demo; sees those anew that judge unprotected, since the others refuse."""

    def __init__(self, cast):
        self.cast = cast
        self.keys = {name: load_identity(cast._state(name) / "key").fingerprint for name in NAMES}
        self.approved = []

    def runners(self):
        seen = "now" if self.cast._unsafe and self.cast._runners else "before"
        return {key: {"id": name, "fingerprint": key, "lastSeenAt": seen} for name, key in self.keys.items()}

    def approve(self, runner):
        self.approved.append(runner)


def test_runners_known_from_an_earlier_demo_that_refuse_the_machine_start_again_unprotected(tmp_path, monkeypatch):
    said = []
    cast = Cast(port=1, folder=tmp_path, say=said.append)
    for name in NAMES:
        cast._state(name).mkdir()
    refusing = "import sys, time; time.sleep(0.3); print('no control groups'); sys.exit(2)"

    def start(name):
        code = SLEEP if cast._unsafe else refusing
        cast._runners[name] = Child(name, [sys.executable, "-c", code], log=tmp_path / f"{name}.log", env={})

    monkeypatch.setattr(cast, "_start", start)
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/bwrap")
    operator = Operator(cast)

    cast.judge(operator)  # type: ignore[arg-type]
    cast.must_live()
    cast.dismiss()

    assert "no control groups" in said[0]
    assert "WITHOUT ISOLATION" in said[0]
    assert sorted(operator.approved) == list(NAMES)


@pytest.mark.parametrize("port", [0, -1, 65536, 70000])
def test_a_port_that_there_is_not_is_refused_with_a_sentence(port):
    with pytest.raises(Died, match="no port"):
        free_port(port, usual=8000)
