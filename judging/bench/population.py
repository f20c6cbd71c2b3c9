"""An installation after a large contest: a million submissions with attempts, results, hand-outs and records, for its pages to show.

Whole as far as a page looks. The ledger's hashes are empty, so nothing loaded here can be audited. Of contests this
knows the tables alone: judging imports nothing of theirs.
"""

from __future__ import annotations

from judging.bench import load
from judging.bench.scratch import Connection, vacuum

ACTIVITIES, ROUNDS, ASSIGNMENTS = 10, 2, 10
DAYS = 3
VERDICTS = ("Accepted", "Wrong answer", "Time limit exceeded", "Run-time error", "Compile error")
TABLES = (
    "judging_thread", "judging_submission", "judging_submissionfile", "judging_job", "judging_delivery", "judging_result",
    "judging_ledgerrecord", "contests_participant", "auth_user", "runners_runner",
)  # fmt: skip

# Ids that sort by time, as the product's own do (runners.keys.new_id).
_ID = "(lpad(to_hex((extract(epoch FROM {at}) * 1000)::bigint), 12, '0') || substr(md5({salt}), 1, 20))::uuid"
_PEOPLE = """
INSERT INTO auth_user (username, password, is_superuser, is_staff, is_active, first_name, last_name, email, date_joined)
SELECT 'team-' || g, '!', false, false, true, '', '', '', now() FROM generate_series(1, %(people)s) g
"""
_ACTIVITIES = f"""
INSERT INTO contests_activity (id, slug, title, pools, priority, grain, enrolment_open, demo, created_at)
SELECT gen_random_uuid(), 'contest-' || g, 'Contest ' || g, '{{}}', 1, 'submission', false, false, now() - g * interval '1 day'
FROM generate_series(1, {ACTIVITIES}) g
"""
_ROUNDS = f"""
INSERT INTO contests_round (id, activity_id, position, title, pools)
SELECT gen_random_uuid(), a.id, g, 'Round ' || g, '{{}}' FROM contests_activity a, generate_series(1, {ROUNDS}) g
"""
_ASSIGNMENTS = """
INSERT INTO contests_assignment (id, round_id, problem_id, slug, position, lane_id)
SELECT gen_random_uuid(), r.id, l.problem_id, 'p' || l.place, l.place, l.id
FROM (SELECT id, row_number() OVER (ORDER BY id) - 1 AS place FROM contests_round) r
JOIN (SELECT l.id, l.problem_id, row_number() OVER (ORDER BY l.id) - 1 AS place FROM judging_lane l) l ON l.place / %(each)s = r.place
"""
_PARTICIPANTS = f"""
INSERT INTO contests_participant (id, activity_id, user_id, name, joined_at)
SELECT gen_random_uuid(), a.id, u.id, 'Team ' || u.id, now()
FROM (SELECT id, row_number() OVER () - 1 AS place FROM contests_activity) a
JOIN auth_user u ON u.id %% {ACTIVITIES} = a.place WHERE u.username LIKE 'team-%%'
"""
# What everything else is made from. The newest hundredth waits, but for the jobs that runners hold.
_DRAWN = f"""
CREATE UNLOGGED TABLE drawn AS
SELECT g, at, {_ID.format(at="at", salt="'s' || g")} AS submission, {_ID.format(at="at", salt="'t' || g")} AS thread,
       {_ID.format(at="at", salt="'j' || g")} AS job, lane, author,
       CASE WHEN g >= %(count)s * 99 / 100 THEN CASE WHEN g %% 50 = 0 THEN 'running' ELSE 'queued' END
            WHEN g %% 101 = 0 THEN 'failed' WHEN g %% 103 = 0 THEN 'cancelled' ELSE 'completed' END AS state,
       (%(runners)s::uuid[])[1 + g %% cardinality(%(runners)s::uuid[])] AS runner,
       (%(verdicts)s::text[])[1 + (g::bigint * 31) %% cardinality(%(verdicts)s::text[])] AS verdict
FROM generate_series(0, %(count)s - 1) g,
     LATERAL (SELECT now() - (%(count)s - g) * (interval '{DAYS} days' / %(count)s) AS at) moment,
     LATERAL (SELECT (%(lanes)s::uuid[])[1 + g %% cardinality(%(lanes)s::uuid[])] AS lane,
                     (%(authors)s::uuid[])[1 + (g::bigint * 7919) %% cardinality(%(authors)s::uuid[])] AS author) who
"""
_THREADS = """
INSERT INTO judging_thread (id, key, lane_id, n, tail, last_at, head, head_priority, head_created_at, running, claimable)
SELECT thread, 'submission:' || submission, lane, 2, '', at, CASE WHEN state = 'queued' THEN job END,
       CASE WHEN state = 'queued' THEN 1 END, CASE WHEN state = 'queued' THEN at END, CASE WHEN state = 'running' THEN job END,
       state = 'queued' FROM drawn
"""
_SUBMISSIONS = """
INSERT INTO judging_submission (id, thread_id, lane_id, version_id, author, props, created_at, attempts)
SELECT submission, thread, lane, %(version)s, author,
       CASE WHEN g %% 3 = 0 THEN '{"language":"cpp20"}' ELSE '{"language":"python3"}' END, at, 1 FROM drawn
"""
_FILES = """
INSERT INTO judging_submissionfile (submission_id, position, name, file_name, file_id)
SELECT submission, 0, 'source', 'main.py', %(source)s FROM drawn
"""
_JOBS = """
INSERT INTO judging_job (id, thread_id, submission_id, lane_id, version_id, n, attempt, priority, urgent, cap, created_at, state,
    fence, deliveries, releases, refunds, heard, admitted, marked, timeout, channel, token, runner_id, claimed_at, lease_until,
    granted, finished_at, reason)
SELECT job, thread, submission, lane, %(version)s, 2, 1, 1, false, 5, at, state, (state <> 'queued')::int, (state <> 'queued')::int,
    0, 0, state = 'running', state = 'completed', false, 3600, false, CASE WHEN state = 'running' THEN job END,
    CASE WHEN state = 'running' THEN runner END, CASE WHEN state = 'running' THEN now() END,
    CASE WHEN state = 'running' THEN now() + interval '10 minutes' END, CASE WHEN state = 'running' THEN 600 END,
    CASE WHEN state NOT IN ('running', 'queued') THEN at + interval '20 seconds' END,
    CASE WHEN state = 'failed' THEN 'Given up after 5 deliveries: lease expired' END FROM drawn
"""
_REJUDGES = f"""
INSERT INTO judging_job (id, thread_id, submission_id, lane_id, version_id, n, attempt, priority, urgent, cap, created_at, state,
    fence, deliveries, releases, refunds, heard, admitted, marked, timeout, channel, finished_at)
SELECT {_ID.format(at="at + interval '1 hour'", salt="'r' || g")}, thread, submission, lane, %(version)s, 4, 2, 3, false, 5,
    at + interval '1 hour', 'completed', 1, 1, 0, 0, false, true, false, 3600, false, at + interval '2 hours'
FROM drawn WHERE state = 'completed' AND g %% 20 = 0 AND at < now() - interval '3 hours'
"""
_DELIVERIES = """
INSERT INTO judging_delivery (token, job_id, fence, runner_id, claimed_at, ended_at, ending)
SELECT job, job, 1, runner, at + interval '10 seconds', CASE WHEN state <> 'running' THEN at + interval '20 seconds' END,
       CASE state WHEN 'running' THEN '' WHEN 'failed' THEN 'expired' WHEN 'cancelled' THEN 'cancelled' ELSE 'reported' END
FROM drawn WHERE state <> 'queued'
"""
_RESULTS = """
INSERT INTO judging_result (id, token, job_id, submission_id, attempt, runner_id, verdict, score, max_score, infrastructure_failure,
    failure_reason, runner_version, extra, props, created_at)
SELECT j.id, j.id, j.id, d.submission, j.attempt, d.runner, d.verdict, d.g %% 100, 100, false, '', '1', '', '', j.finished_at
FROM drawn d JOIN judging_job j ON j.submission_id = d.submission WHERE j.state = 'completed'
"""
_RECORDS = """
INSERT INTO judging_ledgerrecord (thread, n, at, v, type, job, actor, data, after, hash)
SELECT thread, n, at, 1, CASE n WHEN 1 THEN 'submitted' ELSE CASE state WHEN 'completed' THEN 'reported' WHEN 'failed' THEN 'expired'
       WHEN 'cancelled' THEN 'cancelled' ELSE 'leased' END END, job, CASE n WHEN 1 THEN 'user:1' ELSE 'runner:' || runner END, '{}', '', ''
FROM drawn, generate_series(1, 2) n WHERE state <> 'queued' OR n = 1 ORDER BY g
"""
_MARKS = """
UPDATE judging_submission SET excluded_at = now(), excluded_reason = 'bench' WHERE id IN (SELECT submission FROM drawn WHERE g %% 10007 = 0)
"""
_SEEN = "UPDATE runners_runner SET last_seen_at = now() WHERE id <> ALL((%(runners)s::uuid[])[1:3])"


def populate(straight: Connection, count: int) -> None:
    """So many submissions of three days, the last of them a moment ago, in 200 assignments of 10 contests."""
    into = load.library(lanes=ACTIVITIES * ROUNDS * ASSIGNMENTS)
    people = max(20, count // 50)
    *runners, _never_judged = [machine.id for machine in load.machines(max(5, count // 1000))]
    straight.execute("SET session_replication_role = replica")
    straight.execute(_PEOPLE, {"people": people})
    for statement in (_ACTIVITIES, _ROUNDS):
        straight.execute(statement.replace("%%", "%"))
    straight.execute(_ASSIGNMENTS, {"each": ASSIGNMENTS})
    straight.execute(_PARTICIPANTS.replace("%%", "%"))
    authors = [id_ for (id_,) in straight.execute("SELECT id FROM contests_participant ORDER BY id").fetchall()]
    values = {
        "count": count, "runners": runners, "verdicts": list(VERDICTS), "lanes": into.lanes, "authors": authors,
        "version": into.version, "source": into.source,
    }  # fmt: skip
    for statement in (
        _DRAWN, _THREADS, _SUBMISSIONS, _FILES, _JOBS, _REJUDGES, _DELIVERIES, _RESULTS, _RECORDS, _MARKS, _SEEN,
    ):  # fmt: skip
        straight.execute(statement, values)
    straight.execute("DROP TABLE drawn")
    straight.execute("SET session_replication_role = origin")
    vacuum(straight, *TABLES)
