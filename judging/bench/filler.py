"""Queued work by the million, for measuring what a claim costs behind it.

Whole as far as a claim looks: threads, submissions, jobs. Without ledger records, so nothing loaded here can be audited.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from judging.bench.loaded import Library
from judging.bench.scratch import Connection

# Ids that sort by time, as the product's do (runners.keys.new_id): random ones would scatter every index write.
_ID = """
(substr(hex, 1, 8) || '-' || substr(hex, 9) || substr(gen_random_uuid()::text, 14))::uuid
"""
_THREADS = f"""
INSERT INTO judging_thread (id, key, lane_id, n, tail, last_at, head, head_priority, head_created_at, claimable)
SELECT {_ID}, 'bench:' || %(start)s::text || ':' || g, (%(lanes)s::uuid[])[1 + g %% %(width)s], 1, '', at, {_ID}, 1, at, true
FROM generate_series(0, %(count)s - 1) g,
    LATERAL (SELECT %(start)s::text::timestamptz + g * interval '1 microsecond' AS at) moment,
    LATERAL (SELECT lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') AS hex) written
"""
_SUBMISSIONS = """
INSERT INTO judging_submission (id, thread_id, lane_id, version_id, props, created_at, attempts)
SELECT t.head, t.id, t.lane_id, %(version)s, '{"language":"python3"}', t.head_created_at, 1
FROM judging_thread t WHERE t.key LIKE 'bench:' || %(start)s::text || ':%%'
"""
_JOBS = """
INSERT INTO judging_job (id, thread_id, submission_id, lane_id, version_id, n, attempt, priority, urgent, cap, created_at, state, fence,
    deliveries, releases, refunds, heard, admitted, marked, timeout, channel)
SELECT t.head, t.id, t.head, t.lane_id, %(version)s, 1, 1, 1, false, 5, t.head_created_at, 'queued', 0,
    0, 0, 0, false, false, false, 3600, false
FROM judging_thread t WHERE t.key LIKE 'bench:' || %(start)s::text || ':%%'
"""
_BLOCK = """
UPDATE judging_thread SET claimable = false, running = gen_random_uuid() WHERE key LIKE 'bench:' || %(start)s::text || ':%%'
"""


def fill(straight: Connection, into: Library, count: int, *, lanes: Sequence[UUID], start: str, blocked: bool = False) -> None:
    """So many jobs waiting, one a thread, dealt out to these lanes, a microsecond apart from `start` on (an instant, once).

    `blocked` ones have a sibling that runs: nobody may take them yet.
    """
    values = {"count": count, "lanes": list(lanes), "width": len(lanes), "start": start, "version": into.version}
    straight.execute("SET session_replication_role = replica")
    for statement in (_THREADS, _SUBMISSIONS, _JOBS, *([_BLOCK] if blocked else [])):
        straight.execute(statement, values)
    straight.execute("SET session_replication_role = origin")
