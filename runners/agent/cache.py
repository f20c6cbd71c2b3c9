"""Folders kept by content, shared by any number of agents on one machine, bounded in size.

An entry is a folder made once under a name that says its content. Whoever uses one holds a shared lock
on it; making and evicting need the exclusive lock. Locks are the kernel's, so a killed agent holds none,
and an entry appears by one rename, so a killed agent leaves no half of one.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from runners.agent.box.sweep import remove_tree

CAPACITY = 8 << 30


@dataclass(frozen=True, slots=True)
class Cache:
    """A directory of entries. `capacity` bounds what stays when an entry has been added."""

    root: Path
    capacity: int = CAPACITY

    def open(self) -> Cache:
        """Make the directory and remove what killed agents were making."""
        for folder in (self.root, self._entries, self._locks, self._making):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for left in self._making.iterdir():
            # Another agent may be at the same, or be just done with it.
            with contextlib.suppress(OSError), _held(left, fcntl.LOCK_EX | fcntl.LOCK_NB) as mine:
                if mine:
                    remove_tree(left)
        return self

    @property
    def _entries(self) -> Path:
        return self.root / "entries"

    @property
    def _locks(self) -> Path:
        return self.root / "locks"

    @property
    def _making(self) -> Path:
        return self.root / "making"

    @contextlib.contextmanager
    def entry(self, name: str, make: Callable[[Path], None]) -> Iterator[Path]:
        """The entry's folder, for as long as the block lasts; `make` fills an empty folder when there is none.

        What `make` raises leaves no entry.
        """
        lock = self._locks / name
        while True:
            with _locked(lock, fcntl.LOCK_SH):
                if (self._entries / name).is_dir():
                    os.utime(lock)
                    yield self._entries / name
                    return
            self._make(name, make)

    def _make(self, name: str, make: Callable[[Path], None]) -> None:
        with _locked(self._locks / name, fcntl.LOCK_EX):
            if (self._entries / name).is_dir():
                return
            try:
                self._fill(name, make)
            except OSError as error:
                if error.errno not in {errno.ENOSPC, errno.EDQUOT}:
                    raise
                # The disk is smaller than the cache may be: what nobody uses makes room, once.
                self._evict(keep=name, capacity=0)
                self._fill(name, make)
        self._evict(keep=name, capacity=self.capacity)

    def _fill(self, name: str, make: Callable[[Path], None]) -> None:
        folder = self._making / f"{name}.{secrets.token_hex(4)}"
        try:
            with _made(folder):
                make(folder)
                (self._locks / name).write_text(str(_size(folder)))
                folder.rename(self._entries / name)
        finally:
            remove_tree(folder)

    def _evict(self, keep: str, *, capacity: int) -> None:
        """Least recently used first, passing over those in use, until the rest fits."""
        locks = sorted(self._locks.iterdir(), key=_used_at)
        sizes = {lock.name: _said_size(lock) for lock in locks if (self._entries / lock.name).is_dir()}
        total = sum(sizes.values())
        for name, size in sizes.items():
            if total <= capacity:
                return
            if name != keep and self._remove(name):
                total -= size

    def _remove(self, name: str) -> bool:
        with _locked(self._locks / name, fcntl.LOCK_EX | fcntl.LOCK_NB) as mine:
            if not mine:
                return False
            doomed = self._making / f"{name}.{secrets.token_hex(4)}"
            with contextlib.suppress(FileNotFoundError):
                (self._entries / name).rename(doomed)
            remove_tree(doomed)
            (self._locks / name).unlink(missing_ok=True)
            return True


@contextlib.contextmanager
def _made(folder: Path) -> Iterator[None]:
    """A new folder, held while it is filled."""
    fd = _begun(folder)
    try:
        yield
    finally:
        os.close(fd)


def _begun(folder: Path) -> int:
    """A new folder's lock. Until it is held, whoever starts takes the folder for what a killed agent left, and removes it."""
    while True:
        folder.mkdir(mode=0o700, exist_ok=True)
        try:
            fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        fcntl.flock(fd, fcntl.LOCK_SH)
        if _same(fd, folder):
            return fd
        os.close(fd)


@contextlib.contextmanager
def _held(folder: Path, how: int) -> Iterator[bool]:
    """Hold a lock on a folder; False when another has it, or when it is this one no more. Raises FileNotFoundError."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(fd, how)
        except BlockingIOError:
            yield False
        else:
            yield _same(fd, folder)
    finally:
        os.close(fd)


@contextlib.contextmanager
def _locked(path: Path, how: int) -> Iterator[bool]:
    """Hold a lock on a file, made when it is not there; False when it must not wait and another has it.

    A lock file may be removed between opening and locking it: then the lock is on nothing, and is taken again.
    """
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(fd, how)
            except BlockingIOError:
                yield False
                return
            if _same(fd, path):
                yield True
                return
        finally:
            os.close(fd)


def _same(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except FileNotFoundError:
        return False


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _used_at(lock: Path) -> float:
    try:
        return lock.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _said_size(lock: Path) -> int:
    try:
        return int(lock.read_text() or 0)
    except (FileNotFoundError, ValueError):
        return 0
