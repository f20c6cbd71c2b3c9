"""Output against answer by whitespace-separated tokens, in constant memory.

Both sides are turned into the same canonical stream, tokens joined by one space, piece by piece;
a token of a hundred megabytes is never held whole. Whitespace is ASCII's; a NUL is a character.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass

from runners.agent.blob import Blob

WHITESPACE = frozenset((b" ", b"\t", b"\n", b"\r", b"\x0b", b"\x0c"))


@dataclass(frozen=True, slots=True)
class Difference:
    """Where the output leaves the answer. Says nothing of what was expected there."""

    token: int
    """Number of the first differing token, from 1."""

    kind: str
    """`differs`, `missing` (output ended early), `extra` (output goes on), or `space` (other whitespace before it)."""

    def __str__(self) -> str:
        said = {"differs": "is wrong", "missing": "is missing", "extra": "is one too many", "space": "has other whitespace before it"}
        return f"token {self.token} {said[self.kind]}"


def compare_tokens(output: Blob, answer: Blob) -> Difference | None:
    """None when both hold the same tokens."""
    if output.size == answer.size and same_bytes(output, answer):
        return None
    return first_difference(canonical(output.pieces()), canonical(answer.pieces()))


def canonical(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The tokens of a byte stream, each after one space, in non-empty pieces."""
    gap = True
    for piece in pieces:
        body = b" ".join(piece.split())
        gap = gap or piece[:1] in WHITESPACE
        if body:
            yield b" " + body if gap else body
            gap = piece[-1:] in WHITESPACE


def first_difference(output: Iterator[bytes], answer: Iterator[bytes]) -> Difference | None:
    """Walk two canonical streams side by side. Pieces need not be of equal lengths."""
    left = right = b""
    tokens = 0
    while True:
        left, right = left or next(output, b""), right or next(answer, b"")
        width = min(len(left), len(right))
        if not width:
            return _ending(left, right, tokens)
        if left[:width] != right[:width]:
            return _inside(left, right, tokens)
        tokens += left.count(b" ", 0, width)
        left, right = left[width:], right[width:]


def _ending(left: bytes, right: bytes, tokens: int) -> Difference | None:
    """One stream is over: a rest starting with a space is a whole token, another one goes on with the last."""
    rest = left or right
    if not rest:
        return None
    if not rest.startswith(b" "):
        return Difference(tokens, "differs")
    return Difference(tokens + 1, "extra" if left else "missing")


def _inside(left: bytes, right: bytes, tokens: int) -> Difference:
    """The pieces differ: find how far they agree, and so in which token they part."""
    width = min(len(left), len(right))
    agree = bisect.bisect_left(range(1, width + 1), True, key=lambda length: left[:length] != right[:length])
    return Difference(tokens + left.count(b" ", 0, agree), "differs")


def same_bytes(output: Blob, answer: Blob) -> bool:
    """Whether two blobs of one size are equal. Most right answers are right to the byte, which costs a fraction of splitting them."""
    return all(one == other for one, other in zip(output.pieces(), answer.pieces(), strict=False))
