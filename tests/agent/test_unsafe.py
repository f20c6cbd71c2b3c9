"""`--unsafe`: no isolation, but the same words, and nothing left behind."""

import os
import time

import pytest

from runners.agent.box import BoxSettings, Ended, open_box
from runners.agent.box.sweep import session_pids
from tests.agent.conftest import ran


@pytest.fixture
def unsafe(tmp_path):
    box = open_box(BoxSettings(tmp_path / "scratch", "u", unsafe=True))
    yield lambda code, **how: ran(box, ("/usr/bin/python3", "-c", code), **how)
    assert list((tmp_path / "scratch").iterdir()) == []


def test_it_says_that_it_is_not_isolated(tmp_path):
    assert open_box(BoxSettings(tmp_path / "scratch", "u", unsafe=True)).isolated is False


def test_what_a_killed_agent_left_is_removed_at_the_next_start(tmp_path):
    left = tmp_path / "scratch" / "run-x" / "closed"
    left.mkdir(parents=True)
    left.chmod(0)
    open_box(BoxSettings(tmp_path / "scratch", "u", unsafe=True))

    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.parametrize(
    ("code", "ended"),
    [
        ("print(input())", Ended.EXITED),
        ("while True: pass", Ended.CPU),
        ("x = []\nwhile True: x.append(bytearray(1 << 20))", Ended.MEMORY),
        ("while True: print('x' * 1000)", Ended.OUTPUT),
    ],
)
def test_limits_are_kept_for_honest_programs(unsafe, code, ended):
    outcome = unsafe(code, cpu_ms=500, stdin=b"hello\n")

    assert outcome.ended is ended
    assert outcome.text == "hello\n" if ended is Ended.EXITED else True


def test_exit_codes_and_signals_are_told(unsafe):
    assert unsafe("raise SystemExit(3)").status == 3
    assert unsafe("import os; os.kill(os.getpid(), 11)").status == 139


def test_a_background_process_of_the_session_is_killed(unsafe):
    outcome = unsafe("import os, time\nif os.fork(): print(os.getsid(0), flush=True); os._exit(0)\ntime.sleep(600)")

    time.sleep(0.05)
    assert session_pids(int(outcome.text)) == []


def test_the_environment_of_the_agent_is_not_handed_on(unsafe, monkeypatch):
    monkeypatch.setenv("ASSIZE_SECRET", "x")
    assert "ASSIZE_SECRET" not in unsafe("import os; print(dict(os.environ))").text
    assert os.environ["ASSIZE_SECRET"] == "x"
