"""The default output validator, to the letter of the format, in bounded memory.

A NUL is a character, and a hexadecimal number or a dangling exponent is no number: where programs in use differ,
the specification counts.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from runners.agent.blob import Blob
from runners.agent.compare import WHITESPACE, Difference, canonical, first_difference, same_bytes
from runners.agent.icpc.flags import FLOAT, Flags

RUN = re.compile(rb"[ \t\n\v\f\r]+|[^ \t\n\v\f\r]+")
PIECE = 1 << 16
NUMBER_BYTES = 10_000
"""The longest token taken for a number; the format asks for 30 digits on either side of the point."""

LONG_SPACE, LONG_TOKEN = b"  long ", b"x long "
"""Begin what stands for a run too long to hold. No run has both whitespace and something else in it, so none looks like these."""


def validate(output: Blob, answer: Blob, flags: Flags) -> Difference | None:
    """None when the output is accepted."""
    if output.size == answer.size and same_bytes(output, answer):
        return None
    if flags.floats or flags.space_change_sensitive:
        return _by_runs(runs(output.pieces(PIECE)), runs(answer.pieces(PIECE)), flags)
    return first_difference(*(canonical(folded(blob.pieces(), flags)) for blob in (output, answer)))


def folded(pieces: Iterator[bytes], flags: Flags) -> Iterator[bytes]:
    """In lower case where case does not count. Only ASCII letters have one."""
    return pieces if flags.case_sensitive else (piece.lower() for piece in pieces)


def runs(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Tokens and the whitespace between them in turn; one longer than NUMBER_BYTES is told by its digests."""
    open_run = _Run()
    for piece in pieces:
        for part in RUN.findall(piece):
            if open_run.size and open_run.is_space != (part[:1] in WHITESPACE):
                yield open_run.taken()
                open_run = _Run()
            open_run.add(part)
    if open_run.size:
        yield open_run.taken()


class _Run:
    """One run being read, in pieces of any size."""

    __slots__ = ("_exact", "_folded", "_head", "is_space", "size")

    def __init__(self) -> None:
        self.size = 0
        self.is_space = False
        self._head = b""

    def add(self, part: bytes) -> None:
        if not self.size:
            self.is_space = part[:1] in WHITESPACE
        before, self.size = self.size, self.size + len(part)
        if self.size <= NUMBER_BYTES:
            self._head += part
            return
        if before <= NUMBER_BYTES:
            self._exact, self._folded = hashlib.sha256(self._head), hashlib.sha256(self._head.lower())
        self._exact.update(part)
        self._folded.update(part.lower())

    def taken(self) -> bytes:
        if self.size <= NUMBER_BYTES:
            return self._head
        return (LONG_SPACE if self.is_space else LONG_TOKEN) + b"%d " % self.size + self._folded.digest() + self._exact.digest()


def _by_runs(output: Iterator[bytes], answer: Iterator[bytes], flags: Flags) -> Difference | None:
    """Walk both sides token by token; the whitespace before each counts only when it is asked for."""
    number = 0
    while True:
        number += 1
        space, said = _next(output)
        wanted_space, wanted = _next(answer)
        if not wanted and said:
            return Difference(number, "extra")
        if wanted and not said:
            return Difference(number, "missing")
        if said != wanted and not _accepted(said, wanted, flags):
            return Difference(number, "differs")
        if flags.space_change_sensitive and space != wanted_space:
            return Difference(number, "space")
        if not wanted:
            return None


def _next(side: Iterator[bytes]) -> tuple[bytes, bytes]:
    """The next whitespace, if any, and the token after it; empty at the end."""
    run = next(side, b"")
    if run[:1] in WHITESPACE:
        return run, next(side, b"")
    return b"", run


def _accepted(said: bytes, wanted: bytes, flags: Flags) -> bool:
    """Two tokens that are not the same bytes."""
    if wanted.startswith(LONG_TOKEN) or said.startswith(LONG_TOKEN):
        return not flags.case_sensitive and said[:-32] == wanted[:-32]
    if flags.floats and FLOAT.fullmatch(wanted):
        return bool(FLOAT.fullmatch(said)) and flags.near(float(said), float(wanted))
    return not flags.case_sensitive and said.lower() == wanted.lower()
