"""`manage.py audit`: one command proves every verdict, or names the first place where it cannot (ledger.md §4)."""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TextIO
from uuid import UUID

from django.core.management.base import BaseCommand
from django.db import Error
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from judging.audit import Moment, Outcome, Scope, audit, newest_mark
from judging.audit.run import Seeing
from judging.audit.snapshot import count_records
from judging.audit.telling import Unknown, story
from judging.models import AuditResult, AuditScope
from judging.records import Record, instant
from judging.replay.exported import LEDGER, Anchor, SealedFile, Unreadable, read_anchors, record_line, write_anchors

COULD_NOT_RUN = 2


class Command(BaseCommand):
    """Exit codes: 0 equal, 1 diverged, 2 could not run, 3 equal but records of an unknown kind were skipped."""

    help = "Prove from the ledger, by the published rules, what the tables hold. Stops nothing, repairs nothing."
    requires_system_checks: tuple[str, ...] = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What to look at, and what to leave behind."""
        parser.add_argument("--thread", type=UUID, action="append", default=[], help="only this thread; may be repeated")
        parser.add_argument("--lane", type=UUID, action="append", default=[], help="only this lane's threads; may be repeated")
        parser.add_argument("--since-mark", action="store_true", help="only threads with records since the last audit")
        parser.add_argument("--explain", type=UUID, metavar="ID", help="tell the story of a job, submission or thread")
        parser.add_argument("--json", action="store_true", help="answer for programs")
        parser.add_argument("--anchor", type=Path, metavar="FILE", help="check against anchors kept outside the database")
        parser.add_argument("--write-anchor", type=Path, metavar="FILE", help="write anchors, when all is equal")
        parser.add_argument("--export", type=Path, metavar="FILE", help="write the records, for python -m judging.replay")

    def handle(self, **options: Any) -> None:
        """Run one audit, or tell one story; the process ends with its exit code."""
        try:
            code = self._explain(options["explain"]) if options["explain"] else self._audit(options)
        except (Error, OSError, Unreadable, Unknown) as error:
            self._give_up(error, as_json=options["json"])
        if code:
            sys.exit(code)

    def scope(self, options: Mapping[str, Any]) -> Scope:
        """What to look at. Raises Unknown when the options exclude each other."""
        lanes, names = tuple(options["lane"]), tuple(options["thread"])
        if sum(map(bool, (lanes, names, options["since_mark"]))) > 1:
            raise Unknown("Choose one of --thread, --lane and --since-mark.")
        if lanes:
            return Scope(AuditScope.LANES, lanes=lanes)
        if names:
            return Scope(AuditScope.THREADS, threads=names)
        since = newest_mark() if options["since_mark"] else None
        return Scope(AuditScope.RECENT, since=since) if since else Scope()

    def _audit(self, options: Mapping[str, Any]) -> int:
        began = time.monotonic()
        scope, anchors = self.scope(options), _anchors(options["anchor"])
        with ExitStack() as stack:
            stack.enter_context(_uncollected())
            progress = stack.enter_context(_bar(scope, shown=not options["json"]))
            export = stack.enter_context(_export(options["export"]))
            outcome = audit(scope, anchors=anchors, progress=progress, watch=export)
        self._tell(outcome, time.monotonic() - began, as_json=options["json"])
        if options["write_anchor"]:
            self._write_anchor(options["write_anchor"], outcome, quiet=options["json"])
        return int(outcome.result)

    def _tell(self, outcome: Outcome, seconds: float, *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(_document(outcome, seconds), ensure_ascii=False))
            return
        for divergence in outcome.divergences:
            self.stdout.write(self.style.ERROR(str(divergence)))
        paint = self.style.SUCCESS if outcome.result == AuditResult.EQUAL else self.style.WARNING
        anchored = f"; {outcome.anchors} anchors met" if outcome.anchors else ""
        rate = outcome.records / seconds if seconds else 0
        words = outcome.words if not outcome.diverged else f"{outcome.diverged} divergences in {outcome.threads} threads"
        self.stdout.write(paint(f"{outcome.result.label}: {words}{anchored} ({seconds:.1f} s, {rate:,.0f} records/s)"))

    def _write_anchor(self, file: Path, outcome: Outcome, *, quiet: bool) -> None:
        """Anchors of a ledger that diverges would give its damage a good name."""
        if outcome.diverged:
            self.stderr.write("no anchor was written: the ledger diverges")
            return
        with _replacing(file) as stream:
            digest = write_anchors(stream, sorted(outcome.tails.items()), at=outcome.moment.at)
        if not quiet:
            self.stdout.write(f"anchor {digest} over {len(outcome.tails)} threads in {file}: keep it outside this database")

    def _explain(self, asked: UUID) -> int:
        for line in story(asked):
            self.stdout.write(line)
        return 0

    def _give_up(self, error: Exception, *, as_json: bool) -> NoReturn:
        if as_json:
            self.stdout.write(json.dumps({"result": "could not run", "exit": COULD_NOT_RUN, "words": str(error)}))
        else:
            self.stderr.write(f"could not run: {error}")
        sys.exit(COULD_NOT_RUN)


@contextmanager
def _uncollected() -> Iterator[None]:
    """An audit makes millions of values and no cycles: looking for some would be an eighth of its time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _document(outcome: Outcome, seconds: float) -> dict[str, Any]:
    return {
        "result": outcome.result.name.lower(),
        "exit": int(outcome.result),
        "at": instant(outcome.moment.at),
        "scope": str(outcome.scope.kind),
        "records": outcome.records,
        "threads": outcome.threads,
        "skipped": outcome.skipped,
        "anchors": outcome.anchors,
        "diverged": outcome.diverged,
        "divergences": [divergence.document() for divergence in outcome.divergences],
        "seconds": round(seconds, 3),
    }


def _anchors(file: Path | None) -> dict[UUID, Anchor]:
    if file is None:
        return {}
    with file.open(encoding="utf-8", newline="\n") as stream:
        return read_anchors(stream)


@contextmanager
def _bar(scope: Scope, *, shown: bool) -> Iterator[Callable[[int], object]]:
    """A progress bar on a terminal, on standard error; nothing elsewhere."""
    console = Console(stderr=True)
    if not shown or not console.is_terminal:
        yield lambda _: None
        return
    columns = (TextColumn("replaying"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("records", total=count_records(scope))
        yield lambda records: bar.update(task, completed=records)


@contextmanager
def _replacing(file: Path) -> Iterator[TextIO]:
    """Write a file beside the one of this name and put it in its place when it is whole."""
    draft = file.with_name(f"{file.name}.{os.getpid()}.part")
    try:
        with draft.open("w", encoding="utf-8", newline="\n") as stream:
            yield stream
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def _export(file: Path | None) -> Iterator[Callable[[Moment], Seeing]]:
    """Who writes the records that pass by into a file."""
    if file is None:
        yield lambda _: len
        return
    with _replacing(file) as stream:
        opened: list[SealedFile] = []

        def watch(moment: Moment) -> Seeing:
            opened.append(SealedFile(stream, LEDGER, at=moment.at))
            return partial(_copy, opened[0])

        yield watch
        opened[0].seal()


def _copy(file: SealedFile, records: Sequence[Record]) -> None:
    for record in records:
        file.write(record_line(record))
