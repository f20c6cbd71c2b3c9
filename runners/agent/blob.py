"""Bytes that can no longer change, held by the kernel instead of by a path.

A blob is a sealed memfd. A box gets tests and programs as blobs, so nothing of the agent's disk has
to be readable by the uid that runs submissions, and a program that reopens its input for writing
through /proc finds it sealed (runner-agent §3.2).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

PIECE = 1 << 20
SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE


class Capture:
    """A blob being written; refuses to grow past `limit` bytes."""

    def __init__(self, limit: int | None = None) -> None:
        self._fd = os.memfd_create("assize", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        self._limit = limit
        self.size = 0

    def write(self, data: bytes) -> bool:
        """Append what fits; False once something did not."""
        room = len(data) if self._limit is None else min(len(data), self._limit - self.size)
        view = memoryview(data)[:room]
        while view:
            view = view[os.write(self._fd, view) :]
        self.size += room
        return room == len(data)

    @property
    def path(self) -> Path:
        """For writers that want a file's name; the limit does not bind them."""
        return Path(f"/proc/self/fd/{self._fd}")

    def seal(self) -> Blob:
        """End the writing. The capture must not be used afterwards."""
        fcntl.fcntl(self._fd, fcntl.F_ADD_SEALS, SEALS)
        return Blob(self._fd, os.fstat(self._fd).st_size)

    def discard(self) -> None:
        os.close(self._fd)


class Blob:
    """Sealed bytes. Owns its descriptor; `close` when done, or let the owner of the run do it."""

    def __init__(self, fd: int, size: int) -> None:
        self.fd = fd
        self.size = size

    @classmethod
    def of(cls, data: bytes) -> Blob:
        capture = Capture()
        capture.write(data)
        return capture.seal()

    @classmethod
    def of_file(cls, path: Path) -> Blob:
        """The content of a file of ours, copied by the kernel."""
        capture = Capture()
        with path.open("rb", buffering=0) as file:
            while os.sendfile(capture._fd, file.fileno(), None, 1 << 30):
                pass
        return capture.seal()

    def reopened(self) -> int:
        """A new read-only descriptor with an offset of its own. The caller closes it."""
        return os.open(f"/proc/self/fd/{self.fd}", os.O_RDONLY | os.O_CLOEXEC)

    def pieces(self, size: int = PIECE) -> Iterator[bytes]:
        """The bytes in order, never more than `size` in memory."""
        offset = 0
        while piece := os.pread(self.fd, size, offset):
            offset += len(piece)
            yield piece

    def read(self, limit: int | None = None) -> bytes:
        """All bytes, or the first `limit`."""
        return os.pread(self.fd, self.size if limit is None else min(limit, self.size), 0)

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


@contextlib.contextmanager
def holding(*blobs: Blob) -> Iterator[None]:
    """Close the blobs when the block ends, however it ends."""
    try:
        yield
    finally:
        for blob in blobs:
            blob.close()
