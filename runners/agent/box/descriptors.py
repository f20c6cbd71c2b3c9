"""Descriptors that are closed together."""

from __future__ import annotations

import contextlib
import os


class Descriptors(contextlib.AbstractContextManager["Descriptors"]):
    """A set of descriptors with one owner."""

    def __init__(self) -> None:
        self.numbers: list[int] = []

    def add(self, fd: int) -> int:
        self.numbers.append(fd)
        return fd

    def pipe(self, other: Descriptors) -> tuple[int, int]:
        """A pipe whose read end is ours and whose write end is the other's."""
        reading, writing = os.pipe()
        return self.add(reading), other.add(writing)

    def close(self) -> None:
        while self.numbers:
            os.close(self.numbers.pop())

    def __exit__(self, *exc: object) -> None:
        self.close()
