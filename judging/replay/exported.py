"""PURE: the ledger in files: exported records, and anchors kept outside the database (ledger.md §4).

Both are lines of canonical JSON between a first line that says what it is and a last one that seals the rest, so
that a file cut short is never taken for a whole one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple, TextIO
from uuid import UUID

from judging.ids import id_of
from judging.records import Record, canonical, instant
from judging.replay.state import Difference, Divergence, Kind, Place

LEDGER = "assize-ledger"
ANCHOR = "assize-anchor"
FORMAT_VERSION = 1
LONGEST_LINE = 1 << 20
"""In characters. No record comes near it; a file that is one endless line must not fill the memory."""


class Unreadable(ValueError):
    """This is not a whole file of the kind that was expected."""


class SealedFile:
    """A file being written: line by line, then sealed."""

    def __init__(self, stream: TextIO, kind: str, *, at: datetime) -> None:
        self._stream = stream
        self._digest = hashlib.sha256()
        self._lines = 0
        self._put({"format": kind, "version": FORMAT_VERSION, "at": instant(at)})

    def _put(self, document: Mapping[str, object]) -> None:
        line = canonical(document).decode() + "\n"
        self._digest.update(line.encode())
        self._stream.write(line)

    def write(self, document: Mapping[str, object]) -> None:
        """Add one line."""
        self._put(document)
        self._lines += 1

    def seal(self) -> str:
        """Add the last line; the digest over all the others, in hexadecimal."""
        digest = self._digest.hexdigest()
        self._put({"lines": self._lines, "sha256": digest})
        return digest


def read_sealed(stream: TextIO, kind: str) -> Iterator[dict[str, Any]]:
    """The lines between first and last; the first as well, as the head. Raises Unreadable, at the end when it is cut."""
    digest = hashlib.sha256()
    lines = _lines(stream)
    held = next(lines, "")
    head = _document(held)
    if (head.get("format"), head.get("version")) != (kind, FORMAT_VERSION):
        raise Unreadable(f"not a file of {kind}, version {FORMAT_VERSION}")
    yield head
    digest.update(held.encode())
    held, count = next(lines, ""), 0
    for line in lines:
        digest.update(held.encode())
        yield _document(held)
        held, count = line, count + 1
    if _document(held) != {"lines": count, "sha256": digest.hexdigest()}:
        raise Unreadable("the file is cut short, or was changed after it was sealed")


def _lines(stream: TextIO) -> Iterator[str]:
    """The file's lines, none of them longer than a line may be. Raises Unreadable."""
    while line := stream.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise Unreadable(f"a line is longer than {LONGEST_LINE} characters: {line[:40]!r}")
        yield line


def _document(line: str) -> dict[str, Any]:
    """The object in a line, which must be in canonical form: then no two readers can take it for different things."""
    try:
        document = json.loads(line)
        if isinstance(document, dict) and canonical(document).decode() + "\n" == line:
            return document
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"a line is not JSON: {line[:80]!r}") from error
    raise Unreadable(f"a line is not an object in canonical form: {line[:80]!r}")


def record_line(record: Record) -> dict[str, object]:
    """One record as a line of an exported ledger: what the hash is taken over, and the hash."""
    return record.document() | {"hash": record.hash.hex()}


def read_record(line: Mapping[str, Any]) -> Record:
    """The record in a line. Raises Unreadable for one that is not what `record_line` writes."""
    try:
        record = Record(
            thread=id_of(line["thread"]),
            n=line["n"],
            at=datetime.fromisoformat(line["at"]),
            v=line["v"],
            type=line["type"],
            job=id_of(line["job"]),
            actor=line["actor"],
            data=line["data"],
            after=bytes.fromhex(line["after"]),
            hash=bytes.fromhex(line["hash"]),
        )
        types = [type(value) for value in (record.n, record.v, record.type, record.actor, record.data)]
        # Every moment is told in UTC: one without a zone would be the reader's own.
        if types == [int, int, str, str, dict] and record.at.tzinfo is not None and record_line(record) == line:
            return record
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise Unreadable(f"a line is not a ledger record: {error!r}") from error
    raise Unreadable(f"a line is not a ledger record: {str(line)[:80]}")


class Anchor(NamedTuple):
    """What a thread's last record was when an anchor was written."""

    n: int
    hash: bytes


def read_anchors(stream: TextIO) -> dict[UUID, Anchor]:
    """The anchors of a file, by thread. Raises Unreadable."""
    lines = read_sealed(stream, ANCHOR)
    next(lines)
    try:
        return {UUID(line["thread"]): Anchor(int(line["n"]), bytes.fromhex(line["hash"])) for line in lines}
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise Unreadable(f"not an anchor: {error!r}") from error


def write_anchors(stream: TextIO, tails: Iterable[tuple[UUID, Anchor]], *, at: datetime) -> str:
    """Write an anchor file; its digest, short enough to be read out, printed or published."""
    file = SealedFile(stream, ANCHOR, at=at)
    for thread, anchor in tails:
        file.write({"thread": str(thread), "n": anchor.n, "hash": anchor.hash.hex()})
    return file.seal()


class Moored:
    """The anchors that are still to be met while the threads' records pass by."""

    def __init__(self, anchors: Mapping[UUID, Anchor]) -> None:
        self._left = dict(anchors)
        self.met = 0

    def pass_by(self, records: Iterable[Record]) -> Iterator[Record]:
        """The same records. Raises a Divergence at one that is not what its thread's anchor kept."""
        if not self._left:
            yield from records
            return
        for record in records:
            yield record
            anchor = self._left.get(record.thread)
            if anchor is not None and anchor.n == record.n:
                self._left.pop(record.thread)
                _require_moored(record, anchor)
                self.met += 1

    def missing(self, thread: UUID, *, last: int) -> None:
        """Raise a Divergence when this thread's records ended before its anchor was met."""
        anchor = self._left.pop(thread, None)
        if anchor is not None:
            words = "an anchor kept a later record than the ledger has"
            raise Divergence(Kind.GAP, words, Place(thread, anchor.n), Difference("n", anchor.n, last))

    def unmet(self) -> list[UUID]:
        """The threads whose records have not passed by."""
        return sorted(self._left)


def _require_moored(record: Record, anchor: Anchor) -> None:
    if record.hash != anchor.hash:
        words = "the record is not the one that an anchor kept"
        difference = Difference("hash", anchor.hash.hex(), record.hash.hex())
        raise Divergence(Kind.CHAIN, words, Place(record.thread, record.n, record.job), difference)
