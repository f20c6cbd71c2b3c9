"""What must hold of the tables at any moment, whatever happened: I1 to I7 of queue.md §2, asked of the database itself.

Each query answers the breaches; the constraints of the tables say most of it too, and are not trusted here.
"""

from __future__ import annotations

from django.db import connection

from judging.audit import audit
from judging.models import AuditResult, Job, Thread
from judging.rows import JobRow
from judging.rules import head_of
from judging.states import JobState

STARTED = "(deliveries > 0 OR admitted)"
OPEN = "state IN ('queued', 'running')"
LEASE = "num_nonnulls(token, runner_id, claimed_at, lease_until, granted)"
BREACHES = {
    "I1 one job of a thread runs": """
        SELECT thread_id FROM judging_job WHERE state = 'running' GROUP BY 1 HAVING count(*) > 1""",
    "I2 one open job of a thread is started": f"""
        SELECT thread_id FROM judging_job WHERE {OPEN} AND {STARTED} GROUP BY 1 HAVING count(*) > 1""",
    "I3 one urgent job of a thread waits unstarted": f"""
        SELECT thread_id FROM judging_job WHERE state = 'queued' AND urgent AND NOT {STARTED} GROUP BY 1 HAVING count(*) > 1""",
    "I4 one request a key": """
        SELECT key FROM judging_ticket GROUP BY organization, scope, key HAVING count(*) > 1""",
    "I5 a lease exists exactly while running": f"""
        SELECT id FROM judging_job WHERE {LEASE} <> CASE state WHEN 'running' THEN 5 ELSE 0 END OR (heard AND state <> 'running')""",
    "I5 deliveries stay within cap and fence": "SELECT id FROM judging_job WHERE deliveries > least(cap, fence) OR deliveries < 0",
    "I5 what is finished has its time, and nothing else has": f"SELECT id FROM judging_job WHERE (finished_at IS NULL) <> ({OPEN})",
    "I5 every hand-out is a delivery, in the order of its fence": """
        SELECT j.id FROM judging_job j LEFT JOIN judging_delivery d ON d.job_id = j.id GROUP BY j.id
        HAVING count(d.token) <> j.fence OR coalesce(max(d.fence), 0) <> j.fence""",
    "I5 the open delivery is the lease": """
        SELECT j.id FROM judging_job j LEFT JOIN judging_delivery d ON d.job_id = j.id AND d.ended_at IS NULL
        WHERE j.token IS DISTINCT FROM d.token""",
    "I5 counts add up": """
        SELECT id FROM judging_job WHERE refunds > 3 OR deliveries + least(releases, 3) + refunds <> fence""",
    "an outcome waits for a run on the channel, or for one that was lost there": """
        SELECT id FROM judging_job WHERE outcome IS NOT NULL
            AND NOT (state = 'running' AND channel) AND NOT (state = 'failed' AND lost IS NOT NULL)""",
    "only a run on the channel begins, and only what failed was lost": """
        SELECT id FROM judging_job WHERE (started_at IS NOT NULL AND NOT channel) OR (channel AND state <> 'running')
            OR (lost IS NOT NULL AND state <> 'failed')""",
    "what a job waits for is not processed yet": """
        SELECT j.id FROM judging_job j LEFT JOIN judging_outcome o ON o.id = j.outcome AND o.kind = 'completed' AND o.processed_at IS NULL
        WHERE j.outcome IS NOT NULL AND o.id IS NULL""",
    "I6 attempts follow their order": """
        SELECT a.id FROM judging_job a JOIN judging_job b ON a.submission_id = b.submission_id
        WHERE a.attempt < b.attempt AND (a.created_at, a.n) > (b.created_at, b.n) AND a.created_at > b.created_at""",
    "I6 creation follows the lock's order": """
        SELECT a.thread FROM judging_ledgerrecord a JOIN judging_ledgerrecord b ON a.thread = b.thread AND b.n = a.n + 1
        WHERE b.at < a.at""",
    "results belong to finished jobs": """
        SELECT r.id FROM judging_result r JOIN judging_job j ON j.id = r.job_id WHERE j.state NOT IN ('completed', 'failed')""",
    "what completed has a result": """
        SELECT j.id FROM judging_job j LEFT JOIN judging_result r ON r.job_id = j.id WHERE j.state = 'completed' AND r.id IS NULL""",
    "what is deleted has no open job": f"""
        SELECT j.id FROM judging_job j JOIN judging_submission s ON s.id = j.submission_id WHERE {OPEN} AND s.deleted_at IS NOT NULL""",
    "work that may be claimed is in an active lane": """
        SELECT t.id FROM judging_thread t JOIN judging_lane l ON l.id = t.lane_id WHERE t.claimable AND NOT l.active""",
}


def assert_sound() -> None:
    """Every invariant, the threads' heads, and that the ledger explains all of it (I7)."""
    with connection.cursor() as cursor:
        for words, query in BREACHES.items():
            cursor.execute(query)
            assert cursor.fetchall() == [], words
    _assert_heads()
    outcome = audit()
    assert outcome.result is AuditResult.EQUAL, outcome.words


def _assert_heads() -> None:
    """A thread's columns are what the rules make of its jobs."""
    jobs: dict[object, list[JobRow]] = {}
    for job in Job.objects.all():
        jobs.setdefault(job.thread_id, []).append(_row(job))
    for thread in Thread.objects.all():
        head = head_of(jobs.get(thread.id, []))
        stored = (thread.head, thread.head_priority, thread.head_created_at, thread.running, thread.claimable)
        assert stored == (head.job, head.priority, head.created_at, head.running, head.claimable), thread.key


def _row(job: Job) -> JobRow:
    foreign = {"thread", "submission", "lane", "version", "runner"}
    values = {name: getattr(job, f"{name}_id" if name in foreign else name) for name in JobRow._fields}
    return JobRow(**values | {"state": JobState(job.state)})
