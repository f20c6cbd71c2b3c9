"""`python -m judging.replay FILE`: replay an exported ledger without a database (ledger.md §3)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TextIO
from uuid import UUID

from judging.records import Record
from judging.replay.exported import LEDGER, Anchor, Moored, Unreadable, read_anchors, read_record, read_sealed
from judging.replay.machine import Reading
from judging.replay.state import Divergence, State
from judging.replay.tables import settled

EQUAL, DIVERGED, FAILED, UNKNOWN = range(4)
"""The exit codes, the same as those of `manage.py audit`."""


def main(arguments: list[str] | None = None) -> int:
    """Replay a file and say what came of it; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m judging.replay", description="Replay an exported ledger.")
    parser.add_argument("file", type=Path, help="what `manage.py audit --export` wrote")
    parser.add_argument("--anchor", type=Path, help="what `manage.py audit --write-anchor` wrote, kept elsewhere")
    asked = parser.parse_args(arguments)
    try:
        moored = Moored(_anchors(asked.anchor))
        with asked.file.open(encoding="utf-8", newline="\n") as stream:
            return _replay(stream, moored)
    except (Unreadable, OSError, UnicodeDecodeError) as error:
        print(f"could not run: {error}", file=sys.stderr)  # noqa: T201 - this is a program's output
        return FAILED


def _anchors(path: Path | None) -> dict[UUID, Anchor]:
    if path is None:
        return {}
    with path.open(encoding="utf-8", newline="\n") as stream:
        return read_anchors(stream)


def _records(stream: TextIO) -> Iterator[Record]:
    lines = read_sealed(stream, LEDGER)
    next(lines)
    return (read_record(line) for line in lines)


def _replay(stream: TextIO, moored: Moored) -> int:
    """Every thread of the file; the first divergence ends it."""
    threads = records = skipped = 0
    try:
        for thread, told in groupby(_records(stream), key=lambda record: record.thread):
            reading = Reading(State(thread))
            for record in moored.pass_by(told):
                reading.read(record)
            moored.missing(thread, last=reading.n)
            settled(reading.state())
            threads, records, skipped = threads + 1, records + reading.n, skipped + reading.skipped
        for thread in moored.unmet():
            moored.missing(thread, last=0)
    except Divergence as divergence:
        print(f"diverged: {divergence}")  # noqa: T201
        return DIVERGED
    words = f"equal but {skipped} records of an unknown kind were skipped" if skipped else "equal"
    print(f"{words}: {records} records of {threads} threads, {moored.met} anchors met")  # noqa: T201
    return UNKNOWN if skipped else EQUAL


if __name__ == "__main__":
    sys.exit(main())
