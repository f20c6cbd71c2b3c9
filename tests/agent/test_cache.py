"""The content-addressed cache, shared and killed (runner-agent §1)."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from runners.agent.cache import Cache


def fill(size):
    return lambda folder: (folder / "file").write_bytes(b"x" * size) and None


def entries(root):
    return sorted(path.name for path in (root / "entries").iterdir())


def test_an_entry_is_made_once(tmp_path):
    cache, made = Cache(tmp_path).open(), []

    def make(folder):
        made.append(folder)
        (folder / "file").write_text("content")

    for _ in range(3):
        with cache.entry("a", make) as folder:
            assert (folder / "file").read_text() == "content"
    assert len(made) == 1


def test_an_entry_that_could_not_be_made_is_not_there(tmp_path):
    cache = Cache(tmp_path).open()

    def broken(folder):
        (folder / "half").write_text("")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"), cache.entry("a", broken):
        pass
    assert entries(tmp_path) == []
    assert list((tmp_path / "making").iterdir()) == []
    with cache.entry("a", fill(1)) as folder:
        assert not (folder / "half").exists()


def test_the_least_recently_used_goes_first_when_there_is_no_room(tmp_path):
    cache = Cache(tmp_path, capacity=250).open()
    for name in ("a", "b"):
        with cache.entry(name, fill(100)):
            pass
        time.sleep(0.02)
    with cache.entry("a", fill(100)):
        pass
    time.sleep(0.02)
    with cache.entry("c", fill(100)):
        pass

    assert entries(tmp_path) == ["a", "c"]


def test_an_entry_in_use_is_never_evicted_however_full_it_is(tmp_path):
    mine, other = Cache(tmp_path, capacity=150).open(), Cache(tmp_path, capacity=150).open()
    with mine.entry("a", fill(100)) as folder:
        for name in ("b", "c"):
            with other.entry(name, fill(100)):
                pass
        assert (folder / "file").stat().st_size == 100
    with other.entry("d", fill(100)):
        pass
    assert entries(tmp_path) == ["d"]


def test_many_at_once_make_an_entry_once_and_all_read_it_whole(tmp_path):
    made, seen = [], []

    def make(folder):
        made.append(1)
        for number in range(50):
            (folder / str(number)).write_text("x")
        time.sleep(0.05)

    def use():
        with Cache(tmp_path).open().entry("a", make) as folder:
            seen.append(len(list(folder.iterdir())))

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (len(made), seen) == (1, [50] * 8)


def test_readers_and_evictors_side_by_side_never_see_a_half(tmp_path):
    """Two entries fight for the room of one while four threads read them."""
    wrong = []

    def use(name):
        cache = Cache(tmp_path, capacity=100).open()
        for _ in range(25):
            with cache.entry(name, fill(100)) as folder:
                if (folder / "file").stat().st_size != 100:
                    wrong.append(name)

    threads = [threading.Thread(target=use, args=(name,)) for name in "abab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not wrong


KILLED = """
import sys, time
from pathlib import Path
from runners.agent.cache import Cache
def make(folder):
    (folder / "half").write_text("x")
    print("making", flush=True)
    time.sleep(60)
with Cache(Path(sys.argv[1])).open().entry("a", make):
    pass
"""


def test_what_a_killed_agent_was_making_is_swept_and_blocks_nobody(tmp_path):
    maker = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert maker.stdout is not None
    assert maker.stdout.readline() == "making\n"
    cache = Cache(tmp_path).open()
    assert len(list((tmp_path / "making").iterdir())) == 1, "what lives is left alone"
    os.kill(maker.pid, signal.SIGKILL)
    maker.communicate()

    cache.open()
    assert list((tmp_path / "making").iterdir()) == []
    with cache.entry("a", fill(7)) as folder:
        assert (folder / "file").stat().st_size == 7


def test_a_disk_that_is_smaller_than_the_cache_may_be_makes_room_once(tmp_path):
    cache = Cache(tmp_path).open()
    with cache.entry("old", fill(7)):
        pass
    tries = []

    def full_at_first(folder):
        tries.append(1)
        (folder / "part").write_text("x")
        if (tmp_path / "entries" / "old").exists():
            raise OSError(errno.ENOSPC, "No space left on device")

    with cache.entry("new", full_at_first) as folder:
        assert (folder / "part").exists()
    assert (len(tries), list((tmp_path / "making").iterdir())) == (2, [])


def test_a_disk_that_stays_full_is_told(tmp_path):
    cache = Cache(tmp_path).open()

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left"), cache.entry("a", full):
        pass
    assert list((tmp_path / "making").iterdir()) == []


def test_an_agent_that_starts_while_another_begins_to_make_an_entry_takes_nothing_from_it(tmp_path, monkeypatch):
    """In the moment between the folder and its lock it looks like what a killed agent left."""
    cache = Cache(tmp_path).open()
    flock, started = fcntl.flock, []

    def started_in_between(fd, how):
        if how == fcntl.LOCK_SH and not started and any((tmp_path / "making").iterdir()):
            started.append(Cache(tmp_path).open())
        flock(fd, how)

    monkeypatch.setattr("runners.agent.cache.fcntl.flock", started_in_between)

    with cache.entry("a", fill(7)) as folder:
        assert (folder / "file").stat().st_size == 7
    assert started
    assert list((tmp_path / "making").iterdir()) == []
