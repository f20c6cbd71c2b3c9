"""The rows of each stream of an audit: what is selected, in which order, and which values come of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args, get_type_hints
from uuid import UUID

from msgspec.json import decode

from judging.ids import id_of_bytes
from judging.records import Record, documents_digest
from judging.replay import Handout, Judgement, Seal, StoredJob, Tables, ThreadColumns
from judging.rows import JobRow, column_of

Rows = Sequence[tuple[Any, ...]]
_NO_THREAD = UUID(int=0)
"""Under which rows stand that belong to no thread at all: a delivery without a job, which only the audit of everything looks for."""
_IDS = [place for place, (_, kind) in enumerate(get_type_hints(JobRow).items()) if UUID in (kind, *get_args(kind))]
_COLUMNS = [f"j.{column_of(name)}" for name in JobRow._fields]
_JOB = ", ".join(f"uuid_send({column})" if place in _IDS else column for place, column in enumerate(_COLUMNS))

# All begin with the thread and are ordered by it. Ids come as sixteen bytes, which compare faster, and are made when
# their thread's turn comes: the next one's are not the last one's to remember. The scope's condition takes the place of {}.
RECORDS = """
SELECT uuid_send(r.thread), r.n, r.at, r.v, r.type, uuid_send(r.job), r.actor, r.data::text, r.after, r.hash
FROM judging_ledgerrecord r WHERE r.thread {} ORDER BY r.thread, r.n
"""
THREADS = """
SELECT uuid_send(t.id), t.n, t.tail, t.last_at, uuid_send(t.head), t.head_priority, t.head_created_at, uuid_send(t.running), t.claimable,
    uuid_send(t.lane_id)
FROM judging_thread t WHERE t.id {} ORDER BY t.id
"""
SEALS = "SELECT uuid_send(s.thread), s.n, s.tail FROM judging_threadseal s WHERE s.thread {} ORDER BY s.thread"
JOBS = f"SELECT uuid_send(j.thread_id), j.n, {_JOB} FROM judging_job j WHERE j.thread_id {{}} ORDER BY j.thread_id"
_THREAD_OF_JOB = f"coalesce(j.thread_id, '{_NO_THREAD}')"
DELIVERIES = f"""
SELECT uuid_send({_THREAD_OF_JOB}), uuid_send(d.token), uuid_send(d.job_id), d.fence, uuid_send(d.runner_id),
    d.claimed_at, d.ended_at, d.ending
FROM judging_delivery d LEFT JOIN judging_job j ON j.id = d.job_id WHERE {_THREAD_OF_JOB} {{}} ORDER BY {_THREAD_OF_JOB}
"""
RESULTS = """
SELECT uuid_send(s.thread_id), uuid_send(r.id), uuid_send(r.token), uuid_send(r.job_id), uuid_send(r.submission_id),
    r.attempt, uuid_send(r.runner_id), r.verdict, r.score, r.max_score,
    r.infrastructure_failure, r.failure_reason, r.runner_version, r.extra, r.props, r.created_at
FROM judging_result r JOIN judging_submission s ON s.id = r.submission_id WHERE s.thread_id {} ORDER BY s.thread_id
"""

STREAMS = {
    "records": RECORDS,
    "threads": THREADS,
    "seals": SEALS,
    "jobs": JOBS,
    "deliveries": DELIVERIES,
    "results": RESULTS,
}
"""In the order in which they are opened; `tables` takes all but the records by these names."""


def tables(threads: Rows, seals: Rows, jobs: Rows, deliveries: Rows, results: Rows) -> Tables:
    """What the tables hold of one thread, out of the rows that each stream has of it."""
    return Tables(
        thread=_thread(threads[0]) if threads else None,
        seal=Seal(*seals[0][1:]) if seals else None,
        jobs=[_job(row) for row in jobs],
        handouts=[_handout(row) for row in deliveries],
        judgements=[_judgement(row) for row in results],
    )


def record(thread: UUID, row: tuple[Any, ...]) -> Record:
    """One record of a thread."""
    _, n, at, v, kind, job, actor, data, after, digest = row
    return Record(thread, n, at, v, kind, id_of_bytes(job), actor, _said(data), after, digest)


def _said(data: str) -> Any:
    """What a record says; the text itself where damage left numbers or nesting that no server wrote, and no reader takes."""
    try:
        return decode(data)
    except (ValueError, RecursionError):
        return data


def _id(raw: bytes | None) -> UUID | None:
    return None if raw is None else id_of_bytes(raw)


def _thread(row: tuple[Any, ...]) -> ThreadColumns:
    _, n, tail, last_at, head, priority, created_at, running, claimable, lane = row
    return ThreadColumns(n, tail, last_at, _id(head), priority, created_at, _id(running), claimable, id_of_bytes(lane))


def _job(row: tuple[Any, ...]) -> StoredJob:
    values = list(row[2:])
    for place in _IDS:
        if (raw := values[place]) is not None:
            values[place] = id_of_bytes(raw)
    return StoredJob(row[1], tuple(values))


def _handout(row: tuple[Any, ...]) -> Handout:
    _, token, job, fence, runner, claimed_at, ended_at, ending = row
    return Handout(id_of_bytes(token), id_of_bytes(job), fence, _id(runner), claimed_at, ended_at, ending)  # type: ignore[arg-type] # damage may leave none


def _judgement(row: tuple[Any, ...]) -> Judgement:
    _, key, token, job, submission, attempt, runner, verdict, score, most, failed, *documents, created_at = row
    keys = (id_of_bytes(key), id_of_bytes(token), id_of_bytes(job), id_of_bytes(submission), attempt, _id(runner), verdict)
    scores = (None if score is None else repr(score), None if most is None else repr(most))
    values = [*keys, *scores, failed, documents_digest(*documents), created_at]
    return Judgement(*values)
