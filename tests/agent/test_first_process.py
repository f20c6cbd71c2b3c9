"""The agent as the first process of a container, which nobody waits for but itself."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
START = ["unshare", "--map-root-user", "--user", "--pid", "--fork", "--mount-proc", "--kill-child", sys.executable, "-c"]
HEAD = """
import os, signal, sys, time
from runners.agent.first_process import below_an_init

def orphan():
    'Somebody whose parent is gone before it ends.'
    parent = os.fork()
    if parent == 0:
        if os.fork() == 0:
            time.sleep(0.05)
        os._exit(0)
    os.waitpid(parent, 0)

def zombies():
    stats = [open(f'/proc/{name}/stat').read().rpartition(')')[2].split() for name in os.listdir('/proc') if name.isdigit()]
    return [stat for stat in stats if stat[0] == 'Z']
"""


def begun(code):
    return subprocess.Popen([*START, HEAD + code], cwd=ROOT, stdout=subprocess.PIPE, text=True)


def said(code):
    process = begun(code)
    output, _ = process.communicate(timeout=30)
    return process.returncode, output.split()


def test_what_loses_its_parent_is_waited_for():
    work = """
def work():
    for _ in range(5):
        orphan()
    deadline = time.monotonic() + 10
    # They end after a moment, and are gone soon after that or never.
    while len([name for name in os.listdir('/proc') if name.isdigit()]) > 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    print(os.getpid(), len(zombies()))
    return 0
sys.exit(below_an_init(work))
"""

    assert said(work) == (0, ["2", "0"])


@pytest.mark.parametrize(("work", "code"), [("lambda: 3", 3), ("lambda: os.kill(os.getpid(), 9)", 137), ("lambda: sys.exit(2)", 2)])
def test_the_works_end_is_its_own(work, code):
    assert said(f"sys.exit(below_an_init({work}))")[0] == code


def test_it_is_stopped_as_the_work_is():
    process = begun("""
def work():
    signal.signal(signal.SIGTERM, lambda *_: print('told to stop', flush=True) or sys.exit(0))
    print('ready', flush=True)
    signal.pause()
sys.exit(below_an_init(work))
""")
    assert process.stdout.readline() == "ready\n"

    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    first = int(children[0])
    subprocess.run(["kill", f"-{signal.SIGTERM.value}", str(first)], check=True)

    assert process.communicate(timeout=30)[0] == "told to stop\n"


def test_elsewhere_it_is_no_init():
    code = HEAD + "sys.exit(below_an_init(lambda: print(os.getppid()) or 0))"
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    output, _ = process.communicate(timeout=30)

    assert (process.returncode, int(output) > 1) == (0, True)
