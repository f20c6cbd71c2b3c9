"""How fast an audit is: the whole command, over threads of 3 records and of 30."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from django.core.management import call_command

from judging.audit import last_audit
from judging.bench import load
from judging.bench.loaded import Library
from judging.bench.measure import Figure, Spread
from judging.bench.scratch import direct
from judging.bench.size import Size
from judging.models import AuditResult

A_SECOND = 20_000.0
RECORDS_A_LEASE = 6
"""How many records are loaded, per lease that lapses in the `reaper` scenario of this size."""
SHAPES = {"3 records, one submission": (1, 0), "30 records, six submissions each renewed twice": (6, 2)}


def audits(address: str, size: Size) -> Iterator[Figure]:
    """Records a second by the clock, database and all, and by this process's own processor time: one core's."""
    records = size.lapsed * RECORDS_A_LEASE
    begin = datetime.now(UTC) - timedelta(days=1)
    with direct(address) as straight:
        for words, (tries, renewals) in SHAPES.items():
            into, crew = load.library(lanes=4), load.machines(1)
            length = tries * (3 + renewals)
            load.judged(straight, into, records // length, by=crew[0].id, begin=begin, tries=tries, renewals=renewals)
            yield from _measured(words, into, rounds=size.rounds)


def _measured(words: str, into: Library, *, rounds: int) -> Iterator[Figure]:
    """The command over these lanes alone, so that one shape does not measure the other."""
    clocks, processors, note = [], [], ""
    for _ in range(rounds):
        began, worked = time.perf_counter(), time.process_time()
        call_command("audit", lane=into.lanes, json=True, stdout=io.StringIO())
        took, used = time.perf_counter() - began, time.process_time() - worked
        found = last_audit()
        assert found is not None
        assert found.result == AuditResult.EQUAL, found.words
        clocks.append(found.records / took)
        processors.append(found.records / used)
        note = found.words
    for case, rates, least in (("by processor time", processors, A_SECOND), ("by the clock", clocks, A_SECOND)):
        spread = Spread.of(rates)
        yield Figure("audit", f"threads of {words}, {case}", "records/s", spread, None, spread.median, least=least, note=note)
