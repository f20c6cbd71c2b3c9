"""PURE: a job's ledger records in words: who held it, until when, and why it came back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from judging.rows import Illegal, JobRow, Move, Scalar, apply
from judging.states import Cause, JobState, RecordType


@dataclass(frozen=True, slots=True)
class Told:
    """One record as it is stored; `type` may be a word this version does not know."""

    n: int
    at: datetime
    type: str
    job: UUID
    actor: str
    data: Mapping[str, Scalar]


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that happened. `until` is the deadline it set, if any; `reason` somebody's own words, never trusted.

    `tone` is how it bears on the job: plain, good, warn or bad.
    """

    n: int
    at: datetime
    actor: str
    words: str
    tone: str = "plain"
    until: datetime | None = None
    reason: str = ""


def tell(records: Iterable[Told]) -> list[Line]:
    """The story of one job from its records in order. A record that cannot be followed is told without its effect."""
    row: JobRow | None = None
    lines = []
    for record in records:
        after = _follow(row, record)
        lines.append(_line(record, row, after))
        row = after or row
    return lines


def _follow(row: JobRow | None, record: Told) -> JobRow | None:
    """The row this record leaves behind, or None when it cannot be known (an unknown type, a baseline, a gap)."""
    try:
        return apply(row, Move(RecordType(record.type), record.job, record.at, record.data, record.n))
    except (Illegal, ValueError, KeyError, TypeError):
        return None


def _line(record: Told, before: JobRow | None, after: JobRow | None) -> Line:
    words = " ".join(_words(record, before, after))
    until = after.lease_until if after and record.type in _SETS_DEADLINE else None
    return Line(record.n, record.at, record.actor, words, _tone(record, after), until, str(record.data.get("reason") or ""))


_SETS_DEADLINE = {RecordType.LEASED, RecordType.RENEWED, RecordType.STARTED}
_PLAIN: dict[str, str] = {
    RecordType.STARTED: "The run itself begins; from here the hard limit counts.",
    RecordType.ARRIVED: "What the run left was stored, and is turned into the result.",
    RecordType.FAILED: "The run failed; no other runner tries.",
    RecordType.HEARD: "Heard from the runner; the deadline did not move.",
    RecordType.PRIORITISED: "Its priority was changed.",
    RecordType.VOIDED: "The result was voided: it no longer counts.",
    RecordType.CANCELLED: "Cancelled.",
    RecordType.DELETE_MARKED: "Ended because the submission was deleted.",
    RecordType.SUPERSEDED: "Replaced by a newer job while it waited.",
    RecordType.DISPLACED: "Came back, and gave way to a newer urgent job.",
    RecordType.RECLAIMED: "Its row was removed when its retention ended.",
    RecordType.BASELINE: "The row as it stood when the ledger began.",
    RecordType.RENEWED: "The lease was renewed.",
}
_CAUSES = {
    Cause.INFRASTRUCTURE: "The runner could not judge it (infrastructure failure).",
    Cause.UNDONE: "The hand-out was undone: the runner was gone before it was answered.",
    Cause.REVOKED: "The runner's key was revoked.",
    Cause.OPERATOR: "An operator returned it to the queue.",
    Cause.SILENT: "The runner was connected and silent for too long.",
    Cause.KEY_REPLACED: "The runner was given another key for the channel.",
    Cause.EXHAUSTED: "Its hand-outs are used up.",
}


def _words(record: Told, before: JobRow | None, after: JobRow | None) -> Iterator[str]:
    data = record.data
    match record.type:
        case RecordType.SUBMITTED:
            yield "Submitted." if data.get("attempt") == 1 else f"Rejudge: attempt {data.get('attempt')} was opened."
            yield from ("Urgent." for _ in range(bool(data.get("urgent"))))
        case RecordType.LEASED:
            number = f" (hand-out {after.deliveries} of {after.cap})" if after else ""
            yield f"Handed out for {data.get('granted')} s{number}."
        case RecordType.ADMITTED:
            yield f"Handed to an outside judge as {data.get('outside')!r}."
        case RecordType.RELEASED:
            yield "The runner gave it back because it is stopping."
        case RecordType.EXPIRED:
            heard = "" if before is None or before.heard else " The runner was never heard of."
            yield f"The lease ran out.{heard}"
        case RecordType.REQUEUED:
            yield _CAUSES.get(_cause(data), "It went back to the queue.")
        case RecordType.REFUSED:
            yield _refusal(data)
        case RecordType.REPORTED:
            yield f"Reported: {data.get('verdict')}." if data.get("judged") else "Reported an infrastructure failure."
        case _:
            yield _PLAIN.get(record.type, f"{record.type}: a record this version does not know.")
    yield from _consequence(before, after)


_WHY = {
    "runner.lease.stale": "it no longer held the job under this lease",
    "runner.lease.foreign": "the lease is another runner's",
}


def _refusal(data: Mapping[str, Scalar]) -> str:
    """What was asked under which lease, the verdict it brought, and why not."""
    brought = f" with {data['verdict']!r}" if data.get("verdict") else ""
    why = _WHY.get(str(data.get("why")), str(data.get("why")))
    return f"Refused its {data.get('asked', 'call')}{brought} under lease {data.get('token')}: {why}. Nothing changed."


def _cause(data: Mapping[str, Scalar]) -> Cause:
    word = str(data.get("cause"))
    return Cause(word) if word in set(Cause) else Cause.OPERATOR


def _consequence(before: JobRow | None, after: JobRow | None) -> Iterator[str]:
    """What a move out of running did to the delivery and the job (runner-protocol §6)."""
    if before is None or after is None:
        return
    if after.state is JobState.FAILED and before.state is not JobState.FAILED:
        yield after.reason or "Given up."
    elif before.state is JobState.RUNNING and after.state is JobState.QUEUED:
        given_back = after.deliveries < before.deliveries
        yield "Back in the queue;"
        yield "the delivery was given back." if given_back else f"delivery {after.deliveries} of {after.cap} counted."


_GOOD = {RecordType.REPORTED}
_WARN = {RecordType.EXPIRED, RecordType.REQUEUED, RecordType.RELEASED, RecordType.DISPLACED, RecordType.SUPERSEDED}
_BAD = {RecordType.FAILED, RecordType.CANCELLED, RecordType.VOIDED, RecordType.REFUSED, RecordType.DELETE_MARKED}


def _tone(record: Told, after: JobRow | None) -> str:
    if after is not None and after.state is JobState.FAILED:
        return "bad"
    tones = {"good": _GOOD, "warn": _WARN, "bad": _BAD}
    return next((tone for tone, types in tones.items() if record.type in types), "plain")
