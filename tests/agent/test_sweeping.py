"""What a killed agent leaves, and trees that resist (runner-agent §3.8)."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from runners.agent.box.hierarchy import find_hierarchy
from runners.agent.box.sweep import remove_tree, sweep
from tests.agent.conftest import processes_named


def test_a_tree_of_1500_nested_folders_is_removed(tmp_path):
    here = Path.cwd()
    root = tmp_path / "deep"
    root.mkdir()
    try:
        os.chdir(root)
        for _ in range(1500):
            Path("d" * 100).mkdir()
            os.chdir("d" * 100)
    finally:
        os.chdir(here)

    remove_tree(root)

    assert not root.exists()


def test_a_tree_without_any_permission_is_removed_and_links_are_not_followed(tmp_path):
    (tmp_path / "outside").write_text("mine")
    root = tmp_path / "tree"
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "file").write_text("x")
    (root / "a" / "link").symlink_to(tmp_path / "outside")
    (root / "a" / "folder").symlink_to(tmp_path)
    for path in (root / "a" / "b" / "file", root / "a" / "b", root / "a", root):
        path.chmod(0)

    remove_tree(root)

    assert not root.exists()
    assert (tmp_path / "outside").read_text() == "mine"


def test_removing_what_is_not_there_is_no_error(tmp_path):
    remove_tree(tmp_path / "nothing")


KILLED = """
import os, sys
from pathlib import Path
from runners.agent.box import BoxSettings, Command, Limits, open_box
box = open_box(BoxSettings(Path(sys.argv[1]), sys.argv[2]))
print("ready", flush=True)
box.run(Command(("/bin/sh", "-c", "setsid sleep 600 & sleep 600"), Limits(600_000, 64 << 20, 1 << 20)), lambda: False)
"""


@pytest.mark.box
def test_a_killed_agent_leaves_no_process_and_its_next_start_sweeps_its_groups(tmp_path):
    key = f"k{os.getpid()}"
    hierarchy = find_hierarchy()
    agent = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path), key], stdout=subprocess.PIPE, text=True)
    try:
        assert agent.stdout is not None
        assert agent.stdout.readline() == "ready\n"
        _until(lambda: any(len(group.pids()) >= 3 for group in hierarchy.leftovers(f"{key}.")))
        assert sweep(hierarchy, "another") == 0
    finally:
        agent.send_signal(signal.SIGKILL)
        agent.communicate()

    _until(lambda: not processes_named(key) and not any(group.pids() for group in hierarchy.leftovers(f"{key}.")))
    assert len(hierarchy.leftovers(f"{key}.")) == 1
    sweep(hierarchy, key)
    assert hierarchy.leftovers(f"{key}.") == []


def _until(true, seconds=5):
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)
