"""Audits that run all along while several writers do anything at random never see a difference (issue: must show)."""

import random
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections

from judging import queue
from judging.audit import audit
from judging.errors import Refusal
from judging.models import AuditResult, Job, LedgerRecord
from judging.queue import ClaimedJob
from tests.ledger.conftest import equal
from tests.queue.conftest import ACCEPTED, BROKEN, OPERATOR, WRONG

KEYS = ["a", "b", "c"]


class Writer:
    """One connection that does anything that may be done, with whatever any writer ever held."""

    def __init__(self, hall, boxes, held: list[ClaimedJob], seed: int) -> None:
        self.hall, self.boxes, self.held = hall, boxes, held
        self.dice = random.Random(seed)
        self.done: Counter[str] = Counter()

    def work(self, operations: int) -> Counter[str]:
        """Do this many; a refusal is an answer like any other."""
        try:
            for _ in range(operations):
                act = self.dice.choice(ACTS)
                try:
                    act(self)
                    self.done[act.__name__] += 1
                except Refusal as refusal:
                    self.done[refusal.code] += 1
        finally:
            connections.close_all()
        return self.done

    def some_job(self):
        jobs = list(Job.objects.values_list("id", flat=True))
        return self.dice.choice(jobs) if jobs else self.hall.submit().job

    def submit(self) -> None:
        self.hall.submit(thread_key=self.dice.choice(KEYS), urgent=self.dice.random() < 0.3)

    def rejudge(self) -> None:
        job = Job.objects.get(id=self.some_job())
        self.hall.rejudge(job.submission_id, urgent=self.dice.random() < 0.3)

    def claim(self) -> None:
        found = queue.claim(self.dice.choice(self.boxes), lease_seconds=60)
        if isinstance(found, ClaimedJob):
            self.held.append(found)

    def report(self) -> None:
        self.under_lease(lambda job, key: queue.report(job, self.dice.choice([ACCEPTED, WRONG, BROKEN]), **key))

    def renew(self) -> None:
        self.under_lease(lambda job, key: queue.renew(job, lease_seconds=self.dice.choice([60, 600]), **key))

    def progress(self) -> None:
        self.under_lease(lambda job, key: queue.progress(job, **key))

    def release(self) -> None:
        self.under_lease(lambda job, key: queue.release(job, **key))

    def undo(self) -> None:
        self.under_lease(lambda job, key: queue.undo_handout(job, token=key["token"]))

    def under_lease(self, call) -> None:
        if self.held:
            row = self.dice.choice(self.held).row
            call(row.id, {"token": row.token, "runner": row.runner})

    def operate(self) -> None:
        verb = self.dice.choice([queue.cancel, queue.give_back, queue.void])
        verb(self.some_job(), by=OPERATOR, reason="because")

    def delete(self) -> None:
        job = Job.objects.get(id=self.some_job())
        queue.delete_submission(job.submission_id, by=OPERATOR, reason="withdrawn")

    def sweep(self) -> None:
        queue.sweep()


ACTS = [
    Writer.submit, Writer.submit, Writer.rejudge, Writer.claim, Writer.claim, Writer.claim, Writer.report, Writer.report,
    Writer.renew, Writer.progress, Writer.release, Writer.undo, Writer.operate, Writer.delete, Writer.sweep,
]  # fmt: skip


def audits_while(hall, boxes, clock, *, operations: int, writers: int) -> Counter[str]:
    """Let them write, time leap and audits run until all is written; what was done."""
    held: list[ClaimedJob] = []
    stop = threading.Event()
    audits = Counter()

    def watch() -> Counter[str]:
        try:
            while not stop.is_set():
                outcome = audit()
                audits[outcome.result.name] += 1
                assert outcome.result == AuditResult.EQUAL, outcome.words
                clock.forward(seconds=20)
        finally:
            connections.close_all()
        return audits

    with ThreadPoolExecutor(writers + 1) as pool:
        watching = pool.submit(watch)
        crew = [Writer(hall, boxes, held, seed) for seed in range(writers)]
        written = [pool.submit(writer.work, operations // writers) for writer in crew]
        try:
            done = sum((future.result(600) for future in written), Counter())
        finally:
            stop.set()
        watching.result(60)
    return done + audits


def check(hall, boxes, clock, *, operations: int, writers: int) -> None:
    done = audits_while(hall, boxes, clock, operations=operations, writers=writers)

    assert equal().records == LedgerRecord.objects.count()
    assert done["EQUAL"] >= 3, done
    kinds = set(LedgerRecord.objects.values_list("type", flat=True))
    assert {"submitted", "leased", "reported", "superseded", "cancelled", "refused"} <= kinds, (kinds, done)


@pytest.fixture
def boxes(hall):
    return [hall.runner(f"box {number}") for number in range(6)]


def test_audits_while_four_writers_do_four_hundred_things_are_all_equal(hall, boxes, clock):
    check(hall, boxes, clock, operations=400, writers=4)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_audits_while_six_writers_do_two_thousand_things_are_all_equal(hall, boxes, clock):
    check(hall, boxes, clock, operations=2000, writers=6)
