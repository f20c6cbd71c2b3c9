"""PURE: the ledgered row of a job, and `apply`: the only place where one row becomes the next.

The verbs and the replay share it, so the tables can hold nothing the ledger does not explain.
Authority: seed 000, runner-protocol §5-8, ledger.md §3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from judging.ids import id_of, id_text
from judging.states import MOVES, OPEN, Cause, JobState, RecordType

Scalar = str | int | bool | None


DEFAULT_TIMEOUT_SECONDS = 3600


class JobRow(NamedTuple):
    """Every ledgered column of one job. Lease columns are set exactly while it runs.

    A tuple, because a replay makes a new one for every record: that is five times faster than a dataclass here.
    `fence` counts hand-outs ever; `deliveries` those that count against `cap`. `granted` is whole seconds.
    `timeout` is the problem's bound on one run, in seconds. `channel` says that this delivery was claimed on the channel,
    `started_at` when its runner said so there. `outcome` is the stored outcome that waits to become a result; `lost` the
    last delivery of a job that failed because contact was lost, whose outcome may still come.
    """

    id: UUID
    thread: UUID
    submission: UUID
    lane: UUID
    version: UUID
    attempt: int
    priority: int
    urgent: bool
    cap: int
    created_at: datetime
    state: JobState = JobState.QUEUED
    fence: int = 0
    deliveries: int = 0
    releases: int = 0
    refunds: int = 0
    token: UUID | None = None
    runner: UUID | None = None
    claimed_at: datetime | None = None
    lease_until: datetime | None = None
    granted: int | None = None
    heard: bool = False
    admitted: bool = False
    outside_id: str | None = None
    finished_at: datetime | None = None
    reason: str | None = None
    replaced_by: UUID | None = None
    voided_at: datetime | None = None
    marked: bool = False
    closed_at_seq: int | None = None
    timeout: int = DEFAULT_TIMEOUT_SECONDS
    channel: bool = False
    started_at: datetime | None = None
    outcome: UUID | None = None
    lost: UUID | None = None

    @property
    def started(self) -> bool:
        """Whether a counted delivery or an outside hand-over exists: such a job goes before its siblings."""
        return self.deliveries > 0 or self.admitted


class Move(NamedTuple):
    """One thing that happened to one job, as record `n` of its thread says it.

    `data` holds strings, integers, booleans, None.
    """

    type: RecordType
    job: UUID
    at: datetime
    data: Mapping[str, Scalar]
    n: int


class Illegal(ValueError):
    """This move is not allowed from the row it meets; the words say which rule refuses it."""


def _let_go(row: JobRow) -> JobRow:
    """The row without its lease: nobody holds it any more."""
    return row._replace(
        token=None, runner=None, claimed_at=None, lease_until=None, granted=None, heard=False,
        channel=False, started_at=None, outcome=None,
    )  # fmt: skip


def _require(condition: object, words: str) -> None:
    if not condition:
        raise Illegal(words)


def _running(row: JobRow, move: Move) -> None:
    """The lease named by the move must be the row's current one; a null token matches nothing (ledger.md §3)."""
    if row.state is not JobState.RUNNING or row.token is None:
        raise Illegal(f"{move.type} of a job nobody holds")
    if move.data.get("token") != id_text(row.token):
        raise Illegal(f"{move.type} under another lease")
    if row.outcome is not None:
        raise Illegal(f"{move.type} after its outcome arrived")


def give_up_reason(row: JobRow, *, cause: str) -> str:
    """The words of a failed job: the cause and the count (runner-protocol §6)."""
    return f"Given up after {row.deliveries} deliveries: {cause}"


def _counted(row: JobRow, *, cause: str, at: datetime, reason: str | None = None) -> JobRow:
    """Back to the queue with the delivery counted, or failed at the cap."""
    if row.deliveries < row.cap:
        return _let_go(row)._replace(state=JobState.QUEUED, reason=reason or cause)
    words = give_up_reason(row, cause=f"{cause}: {reason}" if reason else cause)
    return _let_go(row)._replace(state=JobState.FAILED, finished_at=at, reason=words)


def _free(row: JobRow, *, cause: str) -> JobRow:
    """Back to the queue with the delivery given back out of one of the two free budgets."""
    return _let_go(row)._replace(state=JobState.QUEUED, deliveries=row.deliveries - 1, reason=cause)


def _submitted(row: JobRow | None, move: Move) -> JobRow:
    _require(row is None, "submitted twice")
    data = move.data
    return JobRow(
        id=move.job,
        thread=id_of(str(data["thread"])),
        submission=id_of(str(data["submission"])),
        lane=id_of(str(data["lane"])),
        version=id_of(str(data["version"])),
        attempt=int(data["attempt"] or 0),
        priority=int(data["priority"] or 0),
        urgent=bool(data["urgent"]),
        cap=int(data["cap"] or 0),
        created_at=move.at,
        timeout=int(data.get("timeout") or DEFAULT_TIMEOUT_SECONDS),
    )


def _leased(row: JobRow, move: Move) -> JobRow:
    _require(row.state is JobState.QUEUED, "leased while not queued")
    _require(row.deliveries < row.cap, "leased past the cap")
    granted = int(move.data["granted"] or 0)
    _require(granted > 0, "leased for no time")
    return row._replace(
        state=JobState.RUNNING,
        fence=row.fence + 1,
        deliveries=row.deliveries + 1,
        token=id_of(str(move.data["token"])),
        runner=id_of(str(move.data["runner"])),
        claimed_at=move.at,
        lease_until=move.at + timedelta(seconds=granted),
        granted=granted,
        heard=False,
        reason=None,
        channel=bool(move.data.get("channel")),
    )


def _renewed(row: JobRow, move: Move) -> JobRow:
    """Renewing never shortens: the later of the deadline held and the one asked for (seed 000).

    `limit`, where there is one, is how many seconds after the claim no renewal leads beyond (channel-protocol §4).
    """
    _running(row, move)
    asked = move.at + timedelta(seconds=int(move.data["seconds"] or 0))
    limit = move.data.get("limit")
    if limit is not None and row.claimed_at is not None:
        asked = min(asked, row.claimed_at + timedelta(seconds=int(limit)))
    held = row.lease_until or asked
    return row._replace(lease_until=max(held, asked), heard=True)


def _started(row: JobRow, move: Move) -> JobRow:
    _require(row.channel and row.started_at is None, "started twice, or not on the channel")
    return _renewed(row, move)._replace(started_at=move.at)


def _heard(row: JobRow, move: Move) -> JobRow:
    _running(row, move)
    return row._replace(heard=True)


def _admitted(row: JobRow, move: Move) -> JobRow:
    _running(row, move)
    outside = str(move.data["outside"])
    _require(row.outside_id in {None, outside}, "admitted under a second outside id")
    return row._replace(admitted=True, outside_id=outside, heard=True)


def _released(row: JobRow, move: Move) -> JobRow:
    """The first releases are free; a later one counts like everything else (seed 000)."""
    _running(row, move)
    if row.releases < int(move.data["free"] or 0):
        return _free(row._replace(releases=row.releases + 1), cause="released")
    return _counted(row._replace(releases=row.releases + 1), cause="released", at=move.at)


def _lost(row: JobRow, move: Move, *, cause: str) -> JobRow:
    """A hand-out never heard of is given back while refunds last; any other counts (seed 000)."""
    if not row.heard and row.refunds < int(move.data["free"] or 0):
        return _free(row._replace(refunds=row.refunds + 1), cause=cause)
    return _counted(row, cause=cause, at=move.at)


def _out_of_contact(row: JobRow, move: Move) -> JobRow:
    """As any loss; but the outcome of a run on the channel is still taken when it comes too late (seed 001)."""
    if not row.channel:
        return _lost(row, move, cause="lease expired")
    after = _lost(row, move, cause=Cause.SILENT.value)
    return after._replace(lost=row.token) if after.state is JobState.FAILED else after


def _expired(row: JobRow, move: Move) -> JobRow:
    """Taken back at or after the deadline, judged by the record's own time (seed 004)."""
    _running(row, move)
    _require(row.lease_until is not None and row.lease_until <= move.at, "expired before its deadline")
    return _out_of_contact(row, move)


def _requeued(row: JobRow, move: Move) -> JobRow:
    cause = Cause(str(move.data["cause"]))
    if cause is Cause.EXHAUSTED:
        _require(row.state is JobState.QUEUED and row.deliveries >= row.cap, "given up with hand-outs left")
        words = give_up_reason(row, cause=row.reason or cause)
        return row._replace(state=JobState.FAILED, finished_at=move.at, reason=words)
    _running(row, move)
    if cause is Cause.UNDONE:
        _require(not row.heard, "a hand-out that was heard cannot be undone")
        return _lost(row, move, cause=cause.value)
    if cause is Cause.SILENT:
        _require(row.channel, "silent without a channel")
        return _out_of_contact(row, move)
    if cause is Cause.INFRASTRUCTURE:
        _require(row.deliveries < row.cap, "requeued at the cap")
        return _counted(row, cause=cause.value, at=move.at, reason=str(move.data["reason"]))
    words = str(move.data.get("reason") or cause)
    return _let_go(row)._replace(state=JobState.QUEUED, reason=words)


def _reported(row: JobRow, move: Move) -> JobRow:
    """A judged result completes the job; an infrastructure failure ends it only at the cap."""
    if row.outcome is not None:
        return _processed(row, move)
    _running(row, move)
    ended = _let_go(row)._replace(finished_at=move.at)
    if move.data["judged"]:
        return ended._replace(state=JobState.COMPLETED, admitted=True, reason=None)
    _require(row.deliveries >= row.cap, "failed with hand-outs left")
    words = give_up_reason(row, cause=f"{Cause.INFRASTRUCTURE}: {move.data['reason']}")
    return ended._replace(state=JobState.FAILED, reason=words)


def _arrived(row: JobRow, move: Move) -> JobRow:
    """Once a delivery: of the holder, or of the one who was lost when nobody else was given the job."""
    outcome = id_of(str(move.data["outcome"]))
    if row.state is JobState.FAILED:
        _require(row.outcome is None, "a second outcome")
        _of_the_lost(row, move)
        return row._replace(outcome=outcome)
    _running(row, move)
    _require(row.channel, "an outcome without a channel")
    return row._replace(outcome=outcome, heard=True)


def _of_the_lost(row: JobRow, move: Move) -> None:
    _require(row.lost is not None and move.data.get("token") == id_text(row.lost), f"{move.type} by somebody who was not lost")


def _processed(row: JobRow, move: Move) -> JobRow:
    """The stored outcome has become a result, whoever is running it through the adapter."""
    if row.state is JobState.FAILED:
        _of_the_lost(row, move)
    else:
        _require(move.data.get("token") == str(row.token), f"{move.type} under another lease")
    _require(move.data["judged"], "an outcome without a verdict")
    return _let_go(row)._replace(state=JobState.COMPLETED, finished_at=move.at, admitted=True, reason=None, lost=None)


def _failed(row: JobRow, move: Move) -> JobRow:
    """The runner gives up on the channel, or the outcome it sent makes no result: no other runner tries (seed 001)."""
    if row.state is JobState.FAILED:
        _require(row.outcome is not None, "failed again")
        _of_the_lost(row, move)
    elif row.outcome is None:
        _running(row, move)
        _require(row.channel, "failed without a channel")
    else:
        _require(move.data.get("token") == str(row.token), f"{move.type} under another lease")
    ended = row.finished_at or move.at
    return _let_go(row)._replace(state=JobState.FAILED, finished_at=ended, reason=str(move.data["reason"]), lost=None)


def over_limit(started_at: datetime, at: datetime, *, seconds: int) -> bool:
    """Whether more whole seconds have gone by than a run may take (channel-protocol §4)."""
    return int((at - started_at).total_seconds()) > seconds


def _cancelled(row: JobRow, move: Move) -> JobRow:
    _require(row.state in OPEN, "cancelled after it was finished")
    _require(row.outcome is None, "cancelled after its outcome arrived")
    limit = move.data.get("limit")
    if limit is not None:
        within = row.started_at is None or not over_limit(row.started_at, move.at, seconds=int(limit))
        _require(not within, "cancelled for a limit it did not exceed")
    words = str(move.data["reason"])
    return _let_go(row)._replace(state=JobState.CANCELLED, finished_at=move.at, reason=words)


def _delete_marked(row: JobRow, move: Move) -> JobRow:
    _require(row.state in OPEN, "marked after it was finished")
    return _let_go(row)._replace(state=JobState.CANCELLED, finished_at=move.at, reason="deleted", marked=True)


def _superseded(row: JobRow, move: Move) -> JobRow:
    _require(row.state is JobState.QUEUED, "superseded while not queued")
    _require(not row.admitted, "superseded after it was admitted")
    by = id_of(str(move.data["by"]))
    return row._replace(state=JobState.SUPERSEDED, finished_at=move.at, replaced_by=by, reason="replaced by a newer job")


def _prioritised(row: JobRow, move: Move) -> JobRow:
    _require(row.state in OPEN, "prioritised after it was finished")
    return row._replace(priority=int(move.data["priority"] or 0))


def _voided(row: JobRow, move: Move) -> JobRow:
    _require(row.state is JobState.COMPLETED and row.voided_at is None, "voided without a counting result")
    return row._replace(voided_at=move.at)


def _unchanged(row: JobRow, move: Move) -> JobRow:
    return row


_IDS = {"id", "thread", "submission", "lane", "version", "token", "runner", "replaced_by", "outcome", "lost"}
_MOMENTS = {"created_at", "claimed_at", "lease_until", "finished_at", "voided_at", "started_at"}


def _baseline(row: JobRow | None, move: Move) -> JobRow:
    """The whole row is in the record: it stood like this when the ledger began (ledger.md §1)."""
    _require(row is None, "baseline of a job that the ledger tells of already")
    values: dict[str, Any] = {name: move.data[name] for name in JobRow._fields}
    values |= {name: id_of(str(values[name])) for name in _IDS if values[name] is not None}
    values |= {name: datetime.fromisoformat(str(values[name])) for name in _MOMENTS if values[name] is not None}
    stood = JobRow(**values | {"state": JobState(str(values["state"]))})
    _require(stood.id == move.job, "baseline of another job")
    return stood


_APPLY: dict[RecordType, Callable[[JobRow, Move], JobRow]] = {
    RecordType.LEASED: _leased,
    RecordType.DISPLACED: _superseded,
    RecordType.RENEWED: _renewed,
    RecordType.STARTED: _started,
    RecordType.HEARD: _heard,
    RecordType.ADMITTED: _admitted,
    RecordType.RELEASED: _released,
    RecordType.EXPIRED: _expired,
    RecordType.REQUEUED: _requeued,
    RecordType.ARRIVED: _arrived,
    RecordType.REPORTED: _reported,
    RecordType.FAILED: _failed,
    RecordType.CANCELLED: _cancelled,
    RecordType.SUPERSEDED: _superseded,
    RecordType.PRIORITISED: _prioritised,
    RecordType.VOIDED: _voided,
    RecordType.DELETE_MARKED: _delete_marked,
    RecordType.REFUSED: _unchanged,
}


def apply(row: JobRow | None, move: Move) -> JobRow:
    """The row this move leaves behind. Raises Illegal when the published rules refuse the move."""
    if move.type is RecordType.SUBMITTED:
        return _submitted(row, move)
    if move.type is RecordType.BASELINE:
        return _baseline(row, move)
    if row is None:
        raise Illegal(f"{move.type} of an unknown job")
    after = _APPLY[move.type](row, move)
    if after.state is row.state:
        return after
    if after.state not in MOVES[row.state]:
        raise Illegal(f"{row.state} may not become {after.state}")
    # The thread's event number at that moment: "is what I read final yet?" has an answer (seed 003).
    return after if after.state in OPEN else after._replace(closed_at_seq=move.n)
