"""PURE: the database's rows of one thread against what the ledger says they are (I7)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from judging.replay.state import Difference, Divergence, Handout, Judgement, Kind, Place, State, Tale
from judging.rows import JobRow
from judging.rules import head_of

Row = Handout | Judgement | None
_NOTHING = Tale(None, None, 0)
MISSING = "the row is missing"
INVENTED = "a row that the ledger never tells of"
ALTERED = "a column is not what the ledger says"


class ThreadColumns(NamedTuple):
    """A thread's row: what it remembers of the ledger, and what it offers to claims."""

    n: int
    tail: bytes
    last_at: datetime | None
    head: UUID | None
    head_priority: int | None
    head_created_at: datetime | None
    running: UUID | None
    claimable: bool
    lane: UUID


class Seal(NamedTuple):
    """What a thread whose row was removed remembered of the ledger."""

    n: int
    tail: bytes


class StoredJob(NamedTuple):
    """A job's row: the number of the record that left it, and its values in the order of `JobRow`'s."""

    n: int
    values: tuple[Any, ...]

    @property
    def id(self) -> UUID:
        """The job's id."""
        found: UUID = self.values[0]
        return found


class Tables(NamedTuple):
    """Every row that the tables hold of one thread. `thread` is None when its row is gone."""

    thread: ThreadColumns | None
    seal: Seal | None = None
    jobs: Sequence[StoredJob] = ()
    handouts: Sequence[Handout] = ()
    judgements: Sequence[Judgement] = ()


def compare(state: State, tables: Tables) -> None:
    """Raise the first Divergence between the tables and a thread's whole ledger."""
    settled(state)
    _compare_tail(state, tables)
    stored = {job.id: job for job in tables.jobs}
    for job, tale in state.tales.items():
        found = stored.pop(job, None)
        if found is None or found.n != tale.n or found.values != tale.row:
            _compare_job(Place(state.thread, tale.n, job), tale, found)
    for job in stored:
        raise Divergence(Kind.TABLE, INVENTED, Place(state.thread, state.n, job), Difference("job.id", None, job))
    _compare_handouts(state, tables.handouts)
    _compare_judgements(state, tables.judgements)
    if tables.thread is not None and not state.dark:
        _compare_head(state, tables.thread)
    if tables.thread is not None:
        _compare_lane(state, tables.thread)


def settled(state: State) -> None:
    """Raise a Divergence when the ledger breaks off in the middle of a decision."""
    if state.due is None:
        return
    job = state.due.displaces or state.due.by
    words = "gives way, but no record says so" if state.due.displaces else "replaces others, but was never opened"
    raise Divergence(Kind.ILLEGAL, f"the ledger breaks off: this job {words}", Place(state.thread, state.n, job))


def _compare_tail(state: State, tables: Tables) -> None:
    kept = tables.thread or tables.seal
    if kept is None and state.n == 0:
        return
    if kept is None:
        words, place = "the thread's row is gone, and no seal was left", Place(state.thread, state.n)
        raise Divergence(Kind.TAIL, words, place, Difference("thread.id", state.thread, None))
    found_at = tables.thread.last_at if tables.thread else state.at
    logged = {"n": state.n, "tail": state.tail.hex(), "last_at": state.at}
    found = {"n": kept.n, "tail": kept.tail.hex(), "last_at": found_at}
    if logged != found:
        column = next(name for name in logged if logged[name] != found[name])
        place = Place(state.thread, max(state.n, kept.n))
        difference = Difference(f"thread.{column}", logged[column], found[column])
        raise Divergence(Kind.TAIL, "the thread remembers another last record", place, difference)


def _compare_job(place: Place, tale: Tale, stored: StoredJob | None) -> None:
    if tale.dark:
        return
    if stored is None:
        if tale.row is not None:
            raise Divergence(Kind.TABLE, MISSING, place, Difference("job.id", place.job, None))
        return
    if tale.row is None:
        words = "the row is still there though it was reclaimed"
        raise Divergence(Kind.TABLE, words, place, Difference("job.id", None, place.job))
    if stored.values != tale.row:
        pairs = zip(JobRow._fields, tale.row, stored.values, strict=True)
        name, logged, found = next(pair for pair in pairs if pair[1] != pair[2])
        raise Divergence(Kind.TABLE, ALTERED, place, Difference(f"job.{name}", logged, found))
    if stored.n != tale.n:
        raise Divergence(Kind.TABLE, ALTERED, place, Difference("job.n", tale.n, stored.n))


def _compare_handouts(state: State, stored: Iterable[Handout]) -> None:
    found = {handout.token: handout for handout in stored}
    for job, tale in state.tales.items():
        for handout in tale.handouts:
            there = found.pop(handout.token, None)
            if there != handout:
                _compare_row("delivery", Place(state.thread, tale.n, job), tale, handout, there)
    for handout in found.values():
        tale = state.tales.get(handout.job, _NOTHING)
        if handout.fence > tale.untold:
            _compare_row("delivery", Place(state.thread, tale.n or state.n, handout.job), tale, None, handout)


def _compare_judgements(state: State, stored: Iterable[Judgement]) -> None:
    found = {judgement.job: judgement for judgement in stored}
    for job, tale in state.tales.items():
        there = found.pop(job, None)
        if there != tale.judgement and (tale.judgement is not None or not tale.untold):
            _compare_row("result", Place(state.thread, tale.n, job), tale, tale.judgement, there)
    for invented in found.values():
        _compare_row("result", Place(state.thread, state.n, invented.job), _NOTHING, None, invented)


def _compare_row(table: str, place: Place, tale: Tale, logged: Row, found: Row) -> None:
    """Two rows that differ. Deliveries may go with a row that is reclaimed, results never (queue.md §4)."""
    may_be_gone = tale.row is None and isinstance(logged, Handout)
    if tale.dark or (found is None and may_be_gone):
        return
    if logged is None or found is None:
        words = MISSING if found is None else INVENTED
        token = Difference(f"{table}.token", getattr(logged, "token", None), getattr(found, "token", None))
        raise Divergence(Kind.TABLE, words, place, token)
    columns = zip(logged._fields, logged, found, strict=True)
    name, said, stands = next(column for column in columns if column[1] != column[2])
    raise Divergence(Kind.TABLE, ALTERED, place, Difference(f"{table}.{name}", said, stands))


def _compare_lane(state: State, thread: ThreadColumns) -> None:
    """A thread stays in the lane of its first job: an audit of a lane's threads must not miss one that was moved away."""
    job, tale = next(iter(state.tales.items()), (None, _NOTHING))
    if tale.row is not None and tale.row.lane != thread.lane:
        difference = Difference("thread.lane", tale.row.lane, thread.lane)
        raise Divergence(Kind.TABLE, ALTERED, Place(state.thread, tale.n, job), difference)


def _compare_head(state: State, thread: ThreadColumns) -> None:
    head = head_of(state.rows())
    logged = (head.job, head.priority, head.created_at, head.running, head.claimable)
    found = (thread.head, thread.head_priority, thread.head_created_at, thread.running, thread.claimable)
    if logged != found:
        columns = zip(("head", "head_priority", "head_created_at", "running", "claimable"), logged, found, strict=True)
        name, said, stands = next(column for column in columns if column[1] != column[2])
        place = Place(state.thread, state.n, head.job or head.running)
        raise Divergence(Kind.TABLE, ALTERED, place, Difference(f"thread.{name}", said, stands))
