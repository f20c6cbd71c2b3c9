"""Removing what an earlier agent left when it was killed, and trees that were made to resist (runner-agent §3.8)."""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from runners.agent.box import cgroup

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def sweep(hierarchy: cgroup.Hierarchy, key: str) -> int:
    """End the processes and remove the groups of an earlier agent of this key. Answers how many there were."""
    strays = _bwraps_of(key)
    cgroup.signal_all(strays)
    groups = hierarchy.leftovers(f"{key}.")
    for group in groups:
        group.remove()
    return len(groups) + len(strays)


def _bwraps_of(key: str) -> list[int]:
    """A bwrap between its start and its control group is in no group yet; its command line carries the group's name."""
    mark = f"--hostname\0{key}.".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if mark in path.read_bytes() and int(path.parent.name) != os.getpid():
                found.append(int(path.parent.name))
    return found


def remove_tree(path: Path) -> None:
    """Remove a directory tree of any depth and any modes, without following a link.

    Never holds more than two descriptors and never builds a long path: the folders inside a folder are
    moved up to the top before it is removed, so depth turns into breadth.
    """
    token = secrets.token_hex(8)
    names = (f".{token}.{number}" for number in itertools.count())
    with contextlib.suppress(FileNotFoundError):
        path.chmod(0o700)
        top = os.open(path, FOLDER)
        try:
            while folders := _delete_files(top):
                for folder in folders:
                    _flatten(top, folder, names)
        finally:
            os.close(top)
        path.rmdir()


def _delete_files(folder: int) -> list[str]:
    """Delete everything that is no folder; answer the folders."""
    folders = []
    for name in os.listdir(folder):
        if stat.S_ISDIR(os.lstat(name, dir_fd=folder).st_mode):
            folders.append(name)
        else:
            os.unlink(name, dir_fd=folder)
    return folders


def _flatten(top: int, name: str, names: Iterator[str]) -> None:
    """Remove one folder of the top; its own folders become folders of the top."""
    os.chmod(name, 0o700, dir_fd=top)
    inside = os.open(name, FOLDER, dir_fd=top)
    try:
        for folder in _delete_files(inside):
            # Its `..` is about to change, which needs the right to write it.
            os.chmod(folder, 0o700, dir_fd=inside)
            os.rename(folder, next(names), src_dir_fd=inside, dst_dir_fd=top)
    finally:
        os.close(inside)
    os.rmdir(name, dir_fd=top)


def session_pids(session: int) -> list[int]:
    """Every living process of a session, those that left its process group included."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, IndexError):
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(int(path.parent.name))
    return found
