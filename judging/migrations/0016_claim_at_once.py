"""A claim and a judged report in one statement each, without a word from the caller in between.

The rules are `leased` and `reported` of `judging.rows`, the canonical form `judging.records`; a test holds them against this
text, and every audit does again. Whatever is not simply a lease (a lapsed one, a head whose hand-outs are used) or the
holder's plain verdict (a repeat, a stale lease, an infrastructure failure, files) is left to the caller, who holds the
thread and moves it by the rules in Python.
"""

from importlib import import_module

from django.db import migrations

before = import_module("judging.migrations.0014_passed_by")


def _replaced(sql: str, old: str, new: str) -> str:
    assert sql.count(old) == 1
    return sql.replace(old, new)


# The pick, with the lane of each of the oldest threads looked up on its own: joined to them, the plan is set up for
# all sixteen before the first is tried, which takes longer than all the rest of a pick.
PICK = _replaced(
    before.PICK,
    """        SELECT w.id FROM (
            SELECT o.id, o.lane_id, o.head_priority, o.head_created_at, o.head FROM judging_thread o WHERE o.claimable
            ORDER BY o.head_priority, o.head_created_at, o.head LIMIT 16) w
        JOIN judging_lane l ON l.id = w.lane_id
        WHERE l.problem_type = ANY (runner.problem_types) AND l.external = runner.external
          AND l.pools && tags AND l.paused_at IS NULL
        ORDER BY w.head_priority, w.head_created_at, w.head;
""",
    """        SELECT o.id, o.lane_id FROM judging_thread o WHERE o.claimable
            ORDER BY o.head_priority, o.head_created_at, o.head LIMIT 16;
""",
)
PICK = _replaced(
    PICK,
    """        SELECT t.id INTO picked FROM judging_thread t WHERE t.id = candidate.id AND t.claimable
""",
    """        PERFORM 1 FROM judging_lane l WHERE l.id = candidate.lane_id
            AND l.problem_type = ANY (runner.problem_types) AND l.external = runner.external
            AND l.pools && tags AND l.paused_at IS NULL;
        CONTINUE WHEN NOT FOUND;
        SELECT t.id INTO picked FROM judging_thread t WHERE t.id = candidate.id AND t.claimable
""",
)

# The ledgered columns in canonical order, which is that of their names in the ledger, and how each is written.
COLUMNS = {
    "admitted": ("admitted", "bare"),
    "attempt": ("attempt", "bare"),
    "cap": ("cap", "bare"),
    "channel": ("channel", "bare"),
    "claimed_at": ("claimed_at", "instant"),
    "closed_at_seq": ("closed_at_seq", "bare"),
    "created_at": ("created_at", "instant"),
    "deliveries": ("deliveries", "bare"),
    "fence": ("fence", "bare"),
    "finished_at": ("finished_at", "instant"),
    "granted": ("granted", "bare"),
    "heard": ("heard", "bare"),
    "id": ("id", "quoted"),
    "lane": ("lane_id", "quoted"),
    "lease_until": ("lease_until", "instant"),
    "lost": ("lost", "quoted"),
    "marked": ("marked", "bare"),
    "outcome": ("outcome", "quoted"),
    "outside_id": ("outside_id", "text"),
    "priority": ("priority", "bare"),
    "reason": ("reason", "text"),
    "refunds": ("refunds", "bare"),
    "releases": ("releases", "bare"),
    "replaced_by": ("replaced_by", "quoted"),
    "runner": ("runner_id", "quoted"),
    "started_at": ("started_at", "instant"),
    "state": ("state", "quoted"),
    "submission": ("submission_id", "quoted"),
    "thread": ("thread_id", "quoted"),
    "timeout": ("timeout", "bare"),
    "token": ("token", "quoted"),
    "urgent": ("urgent", "bare"),
    "version": ("version_id", "quoted"),
    "voided_at": ("voided_at", "instant"),
}
INSTANT = """to_char({} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"""
WRITTEN = {
    # A boolean or an integer is written as PostgreSQL writes it: concat() writes a boolean as t or f, its cast does not.
    "bare": "coalesce(r.{}::text, 'null')",
    # Ids and states hold nothing to escape.
    "quoted": "coalesce('\"' || r.{} || '\"', 'null')",
    "instant": f"coalesce('\"' || {INSTANT.format('r.{}')} || '\"', 'null')",
    "text": "coalesce(to_json(r.{})::text, 'null')",
}
MEMBERS = " || ',' ||\n        ".join(f"""'"{name}":' || {WRITTEN[how].format(column)}""" for name, (column, how) in COLUMNS.items())

CANONICAL = f"""
CREATE FUNCTION judge_canonical(r judging_job) RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN '{{' || {MEMBERS} || '}}';
END
$$;
"""

# The answers are judge_pick's, and `held` for a job that is leased now; with `ready`, nothing was done: its head's
# hand-outs are used, and the caller gives it up. Records first: the trigger on the job table looks for them. Each
# update names what it leaves; anything but one row means that the lock's rule was broken.
CLAIM = f"""
CREATE FUNCTION judge_claim(p_runner uuid, p_granted integer, p_channel boolean)
RETURNS TABLE (answer text, leased text, problem_type varchar, package uuid, package_sha256 varchar, files text, props text,
    version_props text, config text)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    said text;
    held judging_thread;
    r judging_job;
    next record;
    moment timestamptz;
    written text;
    form text;
    after bytea;
    chained bytea;
    lease jsonb;
    touched integer;
BEGIN
    SELECT p.answer, p.thread INTO said, held.id FROM judge_pick(p_runner, true) p;
    IF said <> 'ready' THEN
        RETURN QUERY SELECT said, NULL, NULL::varchar, NULL::uuid, NULL::varchar, NULL, NULL, NULL, NULL;
        RETURN;
    END IF;
    SELECT t.* INTO held FROM judging_thread t WHERE t.id = held.id;
    moment := greatest(judge_now(), held.last_at);
    SELECT j.* INTO r FROM judging_job j WHERE j.id = held.head AND j.state = 'queued' AND j.deliveries < j.cap;
    IF NOT FOUND THEN
        RETURN QUERY SELECT said, NULL, NULL::varchar, NULL::uuid, NULL::varchar, NULL, NULL, NULL, NULL;
        RETURN;
    END IF;
    r.n := held.n + 1;
    r.state := 'running';
    r.fence := r.fence + 1;
    r.deliveries := r.deliveries + 1;
    r.token := gen_random_uuid();
    r.runner_id := p_runner;
    r.claimed_at := moment;
    r.lease_until := moment + make_interval(secs => p_granted);
    r.granted := p_granted;
    r.heard := false;
    r.reason := NULL;
    r.channel := p_channel;
    written := judge_canonical(r);
    after := sha256(convert_to(written, 'UTF8'));
    lease := jsonb_build_object('channel', p_channel, 'granted', p_granted, 'runner', p_runner, 'token', r.token);
    form := '{{"actor":"runner:' || p_runner || '","after":"' || encode(after, 'hex') || '","at":"' || {INSTANT.format("moment")}
        || '","data":{{"channel":' || p_channel::text || ',"granted":' || p_granted || ',"runner":"' || p_runner || '","token":"' || r.token
        || '"}},"job":"' || r.id || '","n":' || r.n || ',"thread":"' || held.id || '","type":"leased","v":1}}';
    chained := sha256(held.tail || convert_to(form, 'UTF8'));
    INSERT INTO judging_ledgerrecord (thread, n, at, v, type, job, actor, data, after, hash)
        VALUES (held.id, r.n, moment, 1, 'leased', r.id, 'runner:' || p_runner, lease, after, chained);
    UPDATE judging_job j SET
        n = r.n, state = r.state, fence = r.fence, deliveries = r.deliveries, token = r.token, runner_id = r.runner_id,
        claimed_at = r.claimed_at, lease_until = r.lease_until, granted = r.granted, heard = r.heard, reason = r.reason,
        channel = r.channel
        WHERE j.id = r.id AND j.state = 'queued' AND j.token IS NULL AND j.deliveries < j.cap;
    GET DIAGNOSTICS touched = ROW_COUNT;
    IF touched <> 1 THEN
        RAISE EXCEPTION 'job % is not what it was under the lock', r.id USING ERRCODE = 'AZ001';
    END IF;
    INSERT INTO judging_delivery (token, job_id, fence, runner_id, claimed_at, ending)
        VALUES (r.token, r.id, r.fence, p_runner, moment, '');
    -- Among what waits still: started first, then urgent, then age, then id, as judging.rules.head_of.
    SELECT j.id, j.priority, j.created_at INTO next FROM judging_job j
        WHERE j.thread_id = held.id AND j.state = 'queued'
        ORDER BY (j.deliveries = 0 AND NOT j.admitted), NOT j.urgent, j.created_at, j.id LIMIT 1;
    UPDATE judging_thread t SET
        n = r.n, tail = chained, last_at = moment, head = next.id, head_priority = next.priority,
        head_created_at = next.created_at, running = r.id, claimable = false
        WHERE t.id = held.id AND t.n = held.n AND t.running IS NULL;
    GET DIAGNOSTICS touched = ROW_COUNT;
    IF touched <> 1 THEN
        RAISE EXCEPTION 'thread % is not what it was under the lock', held.id USING ERRCODE = 'AZ001';
    END IF;
    RETURN QUERY SELECT 'held'::text, written, d.* FROM judge_document_of_job(r.id) d;
END
$$;
"""

# `p_data` is the record's data in canonical form: all of it was known before the lock. The answers: `taken`, with whom
# to tell; or `other`, and nothing was done. Thread first, then the clock, then the job, as everywhere: what is read
# here is no older than the lock.
REPORT = f"""
CREATE FUNCTION judge_report(
    p_job uuid, p_token uuid, p_runner uuid, p_result uuid, p_verdict text, p_score double precision, p_max_score double precision,
    p_failure_reason text, p_runner_version text, p_extra text, p_props text, p_data text)
RETURNS TABLE (answer text, submission uuid, fresh boolean, problem_type varchar, external boolean, pools varchar[])
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    held judging_thread;
    r judging_job;
    next record;
    moment timestamptz;
    form text;
    after bytea;
    chained bytea;
    touched integer;
BEGIN
    SELECT j.thread_id INTO held.id FROM judging_job j WHERE j.id = p_job;
    SELECT t.* INTO held FROM judging_thread t WHERE t.id = held.id FOR NO KEY UPDATE;
    moment := greatest(judge_now(), held.last_at);
    SELECT j.* INTO r FROM judging_job j
        WHERE j.id = p_job AND j.thread_id = held.id AND j.state = 'running' AND j.token = p_token AND j.runner_id = p_runner
            AND j.outcome IS NULL;
    IF NOT FOUND THEN
        RETURN QUERY SELECT 'other'::text, NULL::uuid, NULL::boolean, NULL::varchar, NULL::boolean, NULL::varchar[];
        RETURN;
    END IF;
    r.n := held.n + 1;
    r.closed_at_seq := held.n + 1;
    r.state := 'completed';
    r.finished_at := moment;
    r.admitted := true;
    r.reason := NULL;
    r.token := NULL;
    r.runner_id := NULL;
    r.claimed_at := NULL;
    r.lease_until := NULL;
    r.granted := NULL;
    r.heard := false;
    r.channel := false;
    r.started_at := NULL;
    after := sha256(convert_to(judge_canonical(r), 'UTF8'));
    form := '{{"actor":"runner:' || p_runner || '","after":"' || encode(after, 'hex') || '","at":"' || {INSTANT.format("moment")}
        || '","data":' || p_data || ',"job":"' || r.id || '","n":' || r.n || ',"thread":"' || held.id || '","type":"reported","v":1}}';
    chained := sha256(held.tail || convert_to(form, 'UTF8'));
    INSERT INTO judging_ledgerrecord (thread, n, at, v, type, job, actor, data, after, hash)
        VALUES (held.id, r.n, moment, 1, 'reported', r.id, 'runner:' || p_runner, p_data::jsonb, after, chained);
    INSERT INTO judging_result (id, token, job_id, submission_id, attempt, runner_id, verdict, score, max_score,
            infrastructure_failure, failure_reason, runner_version, extra, props, created_at)
        VALUES (p_result, p_token, r.id, r.submission_id, r.attempt, p_runner, p_verdict, p_score, p_max_score,
            false, p_failure_reason, p_runner_version, p_extra, p_props, moment);
    UPDATE judging_job j SET
        n = r.n, closed_at_seq = r.closed_at_seq, state = r.state, finished_at = r.finished_at, admitted = r.admitted, reason = NULL,
        token = NULL, runner_id = NULL, claimed_at = NULL, lease_until = NULL, granted = NULL, heard = false, channel = false,
        started_at = NULL
        WHERE j.id = r.id AND j.state = 'running' AND j.token = p_token AND j.runner_id = p_runner AND j.outcome IS NULL;
    GET DIAGNOSTICS touched = ROW_COUNT;
    IF touched <> 1 THEN
        RAISE EXCEPTION 'job % is not what it was under the lock', r.id USING ERRCODE = 'AZ001';
    END IF;
    UPDATE judging_delivery d SET ended_at = moment, ending = 'reported' WHERE d.token = p_token;
    UPDATE runners_runner u SET jobs_done = jobs_done + 1 WHERE u.id = p_runner;
    -- Among what waits still: started first, then urgent, then age, then id, as judging.rules.head_of.
    SELECT j.id, j.priority, j.created_at INTO next FROM judging_job j
        WHERE j.thread_id = held.id AND j.state = 'queued'
        ORDER BY (j.deliveries = 0 AND NOT j.admitted), NOT j.urgent, j.created_at, j.id LIMIT 1;
    UPDATE judging_thread t SET
        n = r.n, tail = chained, last_at = moment, head = next.id, head_priority = next.priority,
        head_created_at = next.created_at, running = NULL, claimable = next.id IS NOT NULL
        WHERE t.id = held.id AND t.n = held.n AND t.running = r.id;
    GET DIAGNOSTICS touched = ROW_COUNT;
    IF touched <> 1 THEN
        RAISE EXCEPTION 'thread % is not what it was under the lock', held.id USING ERRCODE = 'AZ001';
    END IF;
    IF next.id IS NULL THEN
        RETURN QUERY SELECT 'taken'::text, r.submission_id, false, NULL::varchar, NULL::boolean, NULL::varchar[];
        RETURN;
    END IF;
    -- Whoever clears `active` takes FOR UPDATE: nobody overlooks what has just become claimable.
    PERFORM 1 FROM judging_lane l WHERE l.id = held.lane_id FOR KEY SHARE;
    UPDATE judging_lane l SET active = true WHERE l.id = held.lane_id AND NOT l.active;
    RETURN QUERY SELECT 'taken'::text, r.submission_id, true, l.problem_type, l.external, l.pools
        FROM judging_lane l WHERE l.id = held.lane_id;
END
$$;
"""


class Migration(migrations.Migration):
    """The functions; `judge_pick` and `judge_held` stay what they were for a process of the version before."""

    dependencies = [("judging", "0015_versions_of_now")]

    operations = [
        migrations.RunSQL(
            [PICK, CANONICAL, CLAIM, REPORT], ["DROP FUNCTION judge_report, judge_claim, judge_canonical(judging_job)", before.PICK]
        )
    ]
