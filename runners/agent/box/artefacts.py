"""Bringing files out of a box without being led astray by what a program left there (runner-agent §3.6).

Everything is opened relative to a directory descriptor and without following links; what is taken is a
regular file with one link, no setid bit, and bounded in size. The first thing that is not is a refusal.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from runners.agent.blob import Blob, Capture

MAX_FILES = 2000
MAX_DEPTH = 20
PIECE = 1 << 20
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class BadArtefact(Exception):
    """What the program left cannot be taken. The sentence is for its author."""


def gather(root: int, name: str, limit: int) -> dict[str, Blob]:
    """The file `name` below the directory `root`, or every file of the folder of that name, within `limit` bytes in all."""
    found: dict[str, Blob] = {}
    try:
        for path, blob in _walk(root, name, "", MAX_DEPTH):
            found[path] = blob
            limit -= blob.size
            if limit < 0:
                raise BadArtefact("the program is too large")
            if len(found) > MAX_FILES:
                raise BadArtefact(f"the program has more than {MAX_FILES} files")
    except BaseException:
        for blob in found.values():
            blob.close()
        raise
    return found


def _walk(folder: int, name: str, prefix: str, depth: int) -> Iterator[tuple[str, Blob]]:
    try:
        seen = os.lstat(name, dir_fd=folder)
        if stat.S_ISDIR(seen.st_mode):
            yield from _walk_folder(folder, name, f"{prefix}{name}/", depth)
        else:
            yield prefix + name, _take(folder, name)
    except OSError as error:
        raise BadArtefact(f"{prefix}{name!r} cannot be read: {error.strerror}") from error


def _walk_folder(folder: int, name: str, prefix: str, depth: int) -> Iterator[tuple[str, Blob]]:
    if depth == 0:
        raise BadArtefact(f"folders more than {MAX_DEPTH} deep")
    inside = os.open(name, FOLDER, dir_fd=folder)
    try:
        for number, entry in enumerate(sorted(os.listdir(inside))):  # noqa: PTH208 - a descriptor, not a path
            if number > MAX_FILES:
                raise BadArtefact(f"more than {MAX_FILES} files")
            yield from _walk(inside, entry, prefix, depth - 1)
    finally:
        os.close(inside)


def _take(folder: int, name: str) -> Blob:
    """Looked at again after opening: between the two looks a living program could have exchanged it."""
    fd = os.open(name, FILE, dir_fd=folder)
    try:
        opened = os.fstat(fd)
        if not stat.S_ISREG(opened.st_mode):
            raise BadArtefact(f"{name!r} is no regular file")
        if opened.st_nlink != 1:
            raise BadArtefact(f"{name!r} has several names")
        if opened.st_mode & (stat.S_ISUID | stat.S_ISGID):
            raise BadArtefact(f"{name!r} is set-id")
        capture = Capture()
        while piece := os.read(fd, PIECE):
            capture.write(piece)
        return capture.seal()
    finally:
        os.close(fd)
