"""PURE: the log-driven machine (seed 004): records in order make the state, whoever reads them and whenever."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from types import MappingProxyType
from uuid import UUID

from judging import rows
from judging.ids import id_of
from judging.records import NO_ROW, VERSION, Record, RowText
from judging.replay import groups
from judging.replay.state import Difference, Divergence, Handout, Judgement, Kind, Place, State, Tale
from judging.rows import Illegal, JobRow, Move
from judging.states import FINISHED, OPEN, RecordType

UNREADABLE = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
"""What data that no server wrote may end in when the rules read it; a refusal of theirs is a ValueError."""
# A member asked of its enumeration is looked up through the class every time: here that is done millions of times.
_BASELINE, _LEASED, _RECLAIMED = RecordType.BASELINE, RecordType.LEASED, RecordType.RECLAIMED
_REPORTED, _SUPERSEDED = RecordType.REPORTED, RecordType.SUPERSEDED
_KNOWN = {kind.value: kind for kind in RecordType}


def apply(state: State, record: Record) -> State:
    """The state after one more record. Raises Divergence; a record it does not understand is counted and passed."""
    return replay(state.thread, [record], base=state)


def replay(thread: UUID, records: Iterable[Record], base: State | None = None) -> State:
    """The state after these records of one thread, from its beginning or from a state reached earlier.

    Raises the first Divergence. That a decision is told whole, and the tables agree, is asked by `compare`.
    """
    reading = Reading(base or State(thread))
    for record in records:
        reading.read(record)
    return reading.state()


def claimable(tasks: Iterable[JobRow], now: datetime) -> list[UUID]:
    """The jobs worth trying for at `now` on the caller's own clock: waiting, or under a lease that has run out.

    The only function here that takes a clock. A clock that is wrong makes a try come early or late; who wins is
    decided by the times in the records alone (seed 004).
    """
    open_tasks = (row for row in tasks if row.state in OPEN)
    return [row.id for row in open_tasks if row.lease_until is None or row.lease_until <= now]


class Reading:
    """A replay under way: a State that is still being written to."""

    __slots__ = ("at", "dark", "due", "n", "open", "skipped", "tail", "tales", "thread")

    def __init__(self, base: State) -> None:
        self.thread = base.thread
        self.n, self.tail, self.at = base.n, base.tail, base.at
        self.tales = dict(base.tales)
        self.open = {row.id: row for row in base.rows() if row.state in OPEN}
        self.due, self.skipped = base.due, base.skipped
        self.dark = base.dark

    def state(self) -> State:
        """What is known after the records read so far."""
        tales = MappingProxyType(dict(self.tales))
        return State(self.thread, self.n, self.tail, self.at, tales, self.due, self.skipped)

    def read(self, record: Record) -> None:
        """Take one record in: its place first, then what it says. Raises Divergence."""
        self._require_place(record)
        kind = _KNOWN.get(record.type) if record.v == VERSION else None
        tale = self.tales.get(record.job)
        dark = tale is not None and tale.dark and kind is not _BASELINE
        if kind is None or dark:
            self._pass_over(record, tale)
        else:
            try:
                self._follow(record, kind, tale)
            except UNREADABLE as refused:
                clear = isinstance(refused, Illegal)
                words = str(refused) if clear else f"{kind} that cannot be read: {refused!r}"
                raise Divergence(Kind.ILLEGAL, words, _place(record)) from refused
        self.n, self.tail, self.at = record.n, record.hash, record.at

    def _require_place(self, record: Record) -> None:
        expected = self.n + 1
        strange = record.thread is not self.thread and record.thread != self.thread
        if strange or record.n != expected:
            missing = record.n > expected
            words = "a record is missing" if missing else "a record stands where it does not belong"
            place = Place(self.thread, expected)
            raise Divergence(Kind.GAP, words, place, Difference("n", expected, record.n))
        try:
            digest = record.chained(self.tail)
        except (AttributeError, TypeError, ValueError) as error:
            words = f"the record has no canonical form: {error}"
            raise Divergence(Kind.CHAIN, words, _place(record)) from error
        if digest != record.hash:
            words = "the record is not the one that was sealed in this place"
            raise Divergence(Kind.CHAIN, words, _place(record), Difference("hash", record.hash.hex(), digest.hex()))
        if self.at is not None and record.at < self.at:
            words = "the record is older than the one before it"
            raise Divergence(Kind.CLOCK, words, _place(record), Difference("at", self.at, record.at))

    def _pass_over(self, record: Record, tale: Tale | None) -> None:
        """A record of a newer version: what it did to the job is known only if it left the row as it was."""
        self.skipped += 1
        if tale is not None and tale.text is not None and tale.text.digest() == record.after:
            self.tales[record.job] = tale._replace(n=record.n)
            return
        handouts = tale.handouts if tale else ()
        self.tales[record.job] = Tale(None, None, record.n, handouts, tale.judgement if tale else None, dark=True)
        self.open.pop(record.job, None)
        self.dark = True

    def _follow(self, record: Record, kind: RecordType, tale: Tale | None) -> None:
        before = tale.row if tale else None
        if self.due is not None:
            groups.require_place(self.due, record, kind)
        groups.require_actor(record, kind, tale)
        if kind is _LEASED and not self.dark:
            groups.require_head(record, self.open)
        if kind is _RECLAIMED:
            self._reclaim(record, tale)
            return
        if before is None and tale is not None and not tale.dark:
            raise Illegal(f"{kind} of a job that was reclaimed")
        after = rows.apply(before, Move(kind, record.job, record.at, record.data, record.n))
        if before is None:
            self._require_opening(record, kind, after)
        text = tale.text.then(after) if tale and tale.text else RowText.of(after)
        _require_digest(record, text.digest())
        self.tales[record.job] = _told(record, kind, tale, after, text)
        self._settle(record, kind, before, after)

    def _require_opening(self, record: Record, kind: RecordType, after: JobRow) -> None:
        if after.thread != self.thread:
            raise Illegal(f"{kind} in another thread")
        if kind is RecordType.SUBMITTED:
            groups.require_attempt(after, [tale.row for tale in self.tales.values() if tale.row])
            if not self.dark:
                groups.require_successor(after, self.due, self.open)

    def _settle(self, record: Record, kind: RecordType, before: JobRow | None, after: JobRow) -> None:
        """Keep the open rows, and note what the next record must be."""
        if after.state in OPEN:
            self.open[after.id] = after
        else:
            self.open.pop(after.id, None)
        self.due = groups.opens_group(record, before, self.due) if kind is _SUPERSEDED else None
        if after.urgent and not self.dark:
            self.due = self.due or groups.gives_way(before, after, self.open.values(), record)
        if before is None and self.dark:
            self.dark = any(tale.dark for tale in self.tales.values())

    def _reclaim(self, record: Record, tale: Tale | None) -> None:
        if tale is None or tale.row is None or tale.row.state not in FINISHED:
            raise Illegal("reclaimed while it was not finished")
        _require_digest(record, NO_ROW)
        self.tales[record.job] = tale._replace(row=None, text=None, n=record.n)


def _place(record: Record) -> Place:
    return Place(record.thread, record.n, record.job)


def _require_digest(record: Record, digest: bytes) -> None:
    if digest != record.after:
        words = "the rules leave another row than the one this record sealed"
        raise Divergence(Kind.DIGEST, words, _place(record), Difference("after", record.after.hex(), digest.hex()))


def _told(record: Record, kind: RecordType, tale: Tale | None, after: JobRow, text: RowText) -> Tale:
    """The job's tale with this record in it."""
    if tale is None or kind is _BASELINE:
        held_now = (_handout(after),) if after.token is not None else ()
        return Tale(after, text, record.n, held_now, untold=after.fence - len(held_now))
    handouts, judgement = tale.handouts, tale.judgement
    held = tale.row.token if tale.row else None
    if held is not None and held is not after.token and handouts and handouts[-1].token == held:
        handouts = (*handouts[:-1], handouts[-1]._replace(ended_at=record.at, ending=kind.value))
    if after.token is not None and after.token is not held:
        handouts = (*handouts, _handout(after))
    if kind is _REPORTED:
        judgement = _judgement(record, tale)
    return Tale(after, text, record.n, handouts, judgement, tale.untold)


def _handout(row: JobRow) -> Handout:
    assert row.token is not None
    assert row.runner is not None
    assert row.claimed_at is not None
    return Handout(row.token, row.id, row.fence, row.runner, row.claimed_at)


def _judgement(record: Record, tale: Tale) -> Judgement:
    row, data = tale.row, record.data
    assert row is not None
    # A lost runner's result comes when it holds nothing any more: then the last hand-out says whose it was.
    token, runner = (row.token, row.runner) if row.token else (row.lost, tale.handouts[-1].runner)
    assert token is not None
    assert runner is not None
    score, most = data["score"], data["max_score"]
    return Judgement(
        id=id_of(str(data["result"])),
        token=token,
        job=row.id,
        submission=row.submission,
        attempt=row.attempt,
        runner=runner,
        verdict=str(data["verdict"]),
        score=None if score is None else str(score),
        max_score=None if most is None else str(most),
        infrastructure_failure=not data["judged"],
        documents=str(data["documents"]),
        created_at=record.at,
    )
