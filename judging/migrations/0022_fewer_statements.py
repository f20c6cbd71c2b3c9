"""A claim and a report of fewer statements and shorter expressions.

What a transaction pays for is the setting up: each statement of a function costs 20 µs before it reads anything, each
expression what it is long. So the pick's way to the oldest work is one statement and the claim keeps what it read, the
canonical forms are one `format` each for the only state they can be in, and what a row needs is computed where it is
read. The rules are `leased` and `reported` of `judging.rows`, as before; a test holds them against this text, and every
audit does again.
"""

from importlib import import_module

from django.db import migrations, models
from django.db.models import deletion

before = import_module("judging.migrations.0016_claim_at_once")

LOOK = "t.id, t.n, t.tail, t.last_at, t.head, l.problem_type, l.config"

# The answers, in `said`, are those of 0009 and 0014; with `ready`, `held` is the thread, locked, and its lane.
# FOR KEY SHARE on the runner orders the claim against a revocation, which takes FOR UPDATE. It is a statement of its own,
# for it may have to wait: each one after it sees all that was committed meanwhile, maintenance and routes too.
# Then the oldest of the 16 oldest claimable threads whose lane fits and whose row nobody holds: strict order, almost
# always enough. Each part of that statement needs what the one before it found, so it is done in this order and no
# further than the first that fits: the lane is looked at before the thread is locked, and no foreign work ever is. OFFSET
# 0 keeps the planner from making a join of the lanes, which would read all of them.
# Only then it is asked why there was nothing, and the head of each eligible active lane is looked at: the cost grows
# with the work this runner may take and never with the work it may not. Lapsed leases come last.
DECLARE = """
    held record;
    said text := 'ready';
    who record;
    switches record;
    candidate record;
    passed boolean := false;
"""
PICK = f"""
    SELECT u.state, u.external, u.problem_types, CASE WHEN u.tags = '{{}}' THEN '{{default}}' ELSE u.tags END AS tags INTO who
        FROM runners_runner u WHERE u.id = p_runner FOR KEY SHARE;
    IF who.state IS DISTINCT FROM 'approved' THEN
        said := 'unapproved';
    ELSE
        SELECT {LOOK} INTO held
            FROM (SELECT o.id, o.lane_id FROM judging_thread o
                    WHERE o.claimable AND coalesce((SELECT i.level = 'open' AND (i.external_judging OR NOT who.external)
                        FROM judging_installation i WHERE i.id = 1), NOT who.external)
                    ORDER BY o.head_priority, o.head_created_at, o.head LIMIT 16) c,
                LATERAL (SELECT n.id, n.problem_type, n.config FROM judging_lane n
                    WHERE n.id = c.lane_id AND n.problem_type = ANY (who.problem_types) AND n.external = who.external
                        AND n.pools && who.tags AND n.paused_at IS NULL OFFSET 0) l,
                LATERAL (SELECT f.id, f.n, f.tail, f.last_at, f.head FROM judging_thread f
                    WHERE f.id = c.id AND f.lane_id = l.id AND f.claimable FOR NO KEY UPDATE SKIP LOCKED) t
            LIMIT 1;
        IF held.id IS NULL THEN
{{beyond}}
        END IF;
    END IF;
"""
BEYOND = f"""
            SELECT i.level, i.external_judging INTO switches FROM judging_installation i WHERE i.id = 1;
            IF coalesce(switches.level, 'open') <> 'open' OR who.external AND NOT coalesce(switches.external_judging, false) THEN
                said := 'shut';
            ELSE
                FOR candidate IN
                    SELECT l.id FROM judging_lane l, LATERAL (
                        SELECT o.head_priority, o.head_created_at, o.head FROM judging_thread o
                        WHERE o.lane_id = l.id AND o.claimable
                        ORDER BY o.head_priority, o.head_created_at, o.head LIMIT 1) h
                    WHERE l.active AND l.problem_type = ANY (who.problem_types) AND l.external = who.external
                      AND l.pools && who.tags AND l.paused_at IS NULL
                    ORDER BY h.head_priority, h.head_created_at, h.head
                LOOP
                    SELECT {LOOK} INTO held FROM judging_thread t JOIN judging_lane l ON l.id = t.lane_id
                        WHERE t.lane_id = candidate.id AND t.claimable
                        ORDER BY t.head_priority, t.head_created_at, t.head LIMIT 1 FOR NO KEY UPDATE OF t SKIP LOCKED;
                    EXIT WHEN held.id IS NOT NULL;
                    passed := true;
                END LOOP;
                IF held.id IS NULL AND {{lapsed}} THEN
                    SELECT {LOOK} INTO held
                        FROM judging_job j JOIN judging_thread t ON t.id = j.thread_id JOIN judging_lane l ON l.id = t.lane_id
                        WHERE j.state = 'running' AND j.lease_until <= judge_now() AND j.outcome IS NULL
                        ORDER BY j.lease_until LIMIT 1 FOR NO KEY UPDATE OF t SKIP LOCKED;
                    IF held.id IS NOT NULL THEN
                        said := 'expired';
                    END IF;
                END IF;
                IF held.id IS NULL THEN
                    said := CASE WHEN passed THEN 'passed' ELSE 'nothing' END;
                END IF;
            END IF;
"""


def pick(lapsed: str) -> str:
    """The pick's text; `lapsed` says in SQL whether a lapsed lease is looked for where there is no work."""
    return PICK.replace("{beyond}", BEYOND.replace("{lapsed}", lapsed))


PICKING = f"""
CREATE OR REPLACE FUNCTION judge_pick(p_runner uuid, p_lapsed boolean)
RETURNS TABLE (answer text, thread uuid) LANGUAGE plpgsql VOLATILE AS $$
DECLARE{DECLARE}BEGIN
{pick("p_lapsed")}
    answer := said;
    IF said IN ('ready', 'expired') THEN
        thread := held.id;
    END IF;
    RETURN NEXT;
END
$$;
"""


def at(moment: str) -> str:
    """An instant as the ledger writes it (judging.records)."""
    return before.INSTANT.format(moment)


# A job's canonical form: the columns in the order of their names (judging.records), but for those whose value the move
# or the table's rules fix. A queued job has neither outcome nor heir nor end; a running one that is reported has
# no outcome, for the look asks for none.
CLAIMED = f"""format(
        '{{"admitted":%s,"attempt":%s,"cap":%s,"channel":%s,"claimed_at":"%s","closed_at_seq":%s,"created_at":"%s","deliveries":%s,"fence":%s,'
        '"finished_at":null,"granted":%s,"heard":false,"id":"%s","lane":"%s","lease_until":"%s","lost":null,"marked":%s,"outcome":null,'
        '"outside_id":%s,"priority":%s,"reason":null,"refunds":%s,"releases":%s,"replaced_by":null,"runner":"%s","started_at":null,'
        '"state":"running","submission":"%s","thread":"%s","timeout":%s,"token":"%s","urgent":%s,"version":"%s","voided_at":null}}',
        r.admitted::text, r.attempt, r.cap, p_channel::text, written, coalesce(r.closed_at_seq::text, 'null'),
        {at("r.created_at")}, r.deliveries, r.fence, p_granted, r.id, r.lane_id, {at("r.lease_until")}, r.marked::text,
        coalesce(to_json(r.outside_id)::text, 'null'), r.priority, r.refunds, r.releases, p_runner, r.submission_id, held.id, r.timeout,
        r.token, r.urgent::text, r.version_id)"""
REPORTED = f"""format(
        '{{"admitted":true,"attempt":%s,"cap":%s,"channel":false,"claimed_at":null,"closed_at_seq":%s,"created_at":"%s","deliveries":%s,'
        '"fence":%s,"finished_at":"%s","granted":null,"heard":false,"id":"%s","lane":"%s","lease_until":null,"lost":null,"marked":%s,'
        '"outcome":null,"outside_id":%s,"priority":%s,"reason":null,"refunds":%s,"releases":%s,"replaced_by":null,"runner":null,'
        '"started_at":null,"state":"completed","submission":"%s","thread":"%s","timeout":%s,"token":null,"urgent":%s,"version":"%s",'
        '"voided_at":null}}',
        r.attempt, r.cap, held.n + 1, {at("r.created_at")}, r.deliveries, r.fence, written, p_job, r.lane_id, r.marked::text,
        coalesce(to_json(r.outside_id)::text, 'null'), r.priority, r.refunds, r.releases, r.submission_id, held.id, r.timeout,
        r.urgent::text, r.version_id)"""
FORM = """format('{{"actor":"runner:%s","after":"%s","at":"%s","data":%s,"job":"%s","n":%s,"thread":"%s","type":"{}","v":1}}',
        p_runner, encode(after, 'hex'), written, {}, {}, held.n + 1, held.id)"""
# Among what waits still: started first, then urgent, then age, then id, as judging.rules.head_of. Mostly nothing does.
MORE = "EXISTS (SELECT 1 FROM judging_job o WHERE o.thread_id = held.id AND o.state = 'queued' AND o.id <> j.id) AS more"
NEXT = """
    IF r.more THEN
        SELECT j.id, j.priority, j.created_at INTO next.head, next.head_priority, next.head_created_at FROM judging_job j
            WHERE j.thread_id = held.id AND j.state = 'queued'
            ORDER BY (j.deliveries = 0 AND NOT j.admitted), NOT j.urgent, j.created_at, j.id LIMIT 1;
    END IF;
"""
BROKEN = """
    IF NOT FOUND THEN
        RAISE EXCEPTION '{0} % is not what it was under the lock', {1} USING ERRCODE = 'AZ001';
    END IF;
"""

# With `ready`, nothing was done: the head's hand-outs are used, and the caller gives it up. Records first: the trigger on
# the job table looks for them. Each update names what it leaves; none means that the lock's rule was broken.
CLAIM = f"""
CREATE OR REPLACE FUNCTION judge_claim(p_runner uuid, p_granted integer, p_channel boolean)
RETURNS TABLE (answer text, leased text, problem_type varchar, package uuid, package_sha256 varchar, files text, props text,
    version_props text, config text)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE{DECLARE}
    r record;
    next judging_thread;
    moment timestamptz;
    written text;
    data text;
    after bytea;
    chained bytea;
BEGIN
{pick("true")}
    answer := said;
    IF said <> 'ready' THEN
        RETURN NEXT;
        RETURN;
    END IF;
    moment := greatest(judge_now(), held.last_at);
    SELECT j.id, j.attempt, j.priority, j.urgent, j.cap, j.created_at, j.fence + 1 AS fence, j.deliveries + 1 AS deliveries, j.releases,
            j.refunds, j.admitted, j.outside_id, j.marked, j.closed_at_seq, j.lane_id, j.version_id, j.submission_id, j.timeout,
            gen_random_uuid() AS token, moment + make_interval(secs => p_granted) AS lease_until,
            {MORE} INTO r
        FROM judging_job j WHERE j.id = held.head AND j.state = 'queued' AND j.deliveries < j.cap;
    IF r.id IS NULL THEN
        RETURN NEXT;
        RETURN;
    END IF;
    written := {at("moment")};
    leased := {CLAIMED};
    after := sha256(convert_to(leased, 'UTF8'));
    data := format('{{"channel":%s,"granted":%s,"runner":"%s","token":"%s"}}', p_channel::text, p_granted, p_runner, r.token);
    chained := sha256(held.tail || convert_to({FORM.format("leased", "data", "r.id")}, 'UTF8'));
    INSERT INTO judging_ledgerrecord (thread, n, at, v, type, job, actor, data, after, hash)
        VALUES (held.id, held.n + 1, moment, 1, 'leased', r.id, 'runner:' || p_runner, data::jsonb, after, chained);
    UPDATE judging_job j SET
        n = held.n + 1, state = 'running', fence = r.fence, deliveries = r.deliveries, token = r.token, runner_id = p_runner,
        claimed_at = moment, lease_until = r.lease_until, granted = p_granted, heard = false, reason = NULL, channel = p_channel
        WHERE j.id = r.id AND j.state = 'queued' AND j.token IS NULL AND j.deliveries < j.cap;
{BROKEN.format("job", "r.id")}
    INSERT INTO judging_delivery (token, job_id, fence, runner_id, claimed_at, ending)
        VALUES (r.token, r.id, r.fence, p_runner, moment, '');
{NEXT}
    UPDATE judging_thread t SET
        n = held.n + 1, tail = chained, last_at = moment, head = next.head, head_priority = next.head_priority,
        head_created_at = next.head_created_at, running = r.id, claimable = false
        WHERE t.id = held.id AND t.n = held.n AND t.running IS NULL;
{BROKEN.format("thread", "held.id")}
    SELECT p.id, coalesce(p.sha256, ''), v.props, s.props,
            (SELECT coalesce(json_agg(json_build_object('name', f.name, 'fileName', f.file_name, 'fileId', f.file_id,
                    'sha256', d.sha256, 'sizeBytes', d.size_bytes) ORDER BY f.position), '[]')::text
                FROM judging_submissionfile f JOIN judging_storedfile d ON d.id = f.file_id
                WHERE f.submission_id = s.id)
            INTO package, package_sha256, version_props, props, files
        FROM judging_submission s JOIN judging_problemversion v ON v.id = r.version_id
        LEFT JOIN judging_storedfile p ON p.id = v.package_id
        WHERE s.id = r.submission_id;
    answer := 'held';
    problem_type := held.problem_type;
    config := held.config;
    RETURN NEXT;
END
$$;
"""

# `p_data` is the record's data in canonical form: all of it was known before the lock. The answers: `taken`, with whom
# to tell; or `other`, and nothing was done. Thread first, then the clock, then the job, as everywhere: what is read
# here is no older than the lock. A job never leaves its thread, so which to lock is no guess.
REPORT = f"""
CREATE OR REPLACE FUNCTION judge_report(
    p_job uuid, p_token uuid, p_runner uuid, p_result uuid, p_verdict text, p_score double precision, p_max_score double precision,
    p_failure_reason text, p_runner_version text, p_extra text, p_props text, p_data text)
RETURNS TABLE (answer text, submission uuid, fresh boolean, problem_type varchar, external boolean, pools varchar[])
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    held record;
    r record;
    next judging_thread;
    moment timestamptz;
    written text;
    after bytea;
    chained bytea;
BEGIN
    SELECT t.id, t.n, t.tail, t.last_at, t.lane_id INTO held FROM judging_thread t
        WHERE t.id = (SELECT j.thread_id FROM judging_job j WHERE j.id = p_job) FOR NO KEY UPDATE;
    moment := greatest(judge_now(), held.last_at);
    SELECT j.attempt, j.priority, j.urgent, j.cap, j.created_at, j.fence, j.deliveries, j.releases, j.refunds, j.outside_id, j.marked,
            j.lane_id, j.version_id, j.submission_id, j.timeout, {MORE} INTO r
        FROM judging_job j
        WHERE j.id = p_job AND j.thread_id = held.id AND j.state = 'running' AND j.token = p_token AND j.runner_id = p_runner
            AND j.outcome IS NULL;
    IF NOT FOUND THEN
        answer := 'other';
        RETURN NEXT;
        RETURN;
    END IF;
    written := {at("moment")};
    after := sha256(convert_to({REPORTED}, 'UTF8'));
    chained := sha256(held.tail || convert_to({FORM.format("reported", "p_data", "p_job")}, 'UTF8'));
    INSERT INTO judging_ledgerrecord (thread, n, at, v, type, job, actor, data, after, hash)
        VALUES (held.id, held.n + 1, moment, 1, 'reported', p_job, 'runner:' || p_runner, p_data::jsonb, after, chained);
    INSERT INTO judging_result (id, token, job_id, submission_id, attempt, runner_id, verdict, score, max_score,
            infrastructure_failure, failure_reason, runner_version, extra, props, created_at)
        VALUES (p_result, p_token, p_job, r.submission_id, r.attempt, p_runner, p_verdict, p_score, p_max_score,
            false, p_failure_reason, p_runner_version, p_extra, p_props, moment);
    UPDATE judging_job j SET
        n = held.n + 1, closed_at_seq = held.n + 1, state = 'completed', finished_at = moment, admitted = true, reason = NULL,
        token = NULL, runner_id = NULL, claimed_at = NULL, lease_until = NULL, granted = NULL, heard = false, channel = false,
        started_at = NULL
        WHERE j.id = p_job AND j.state = 'running' AND j.token = p_token AND j.runner_id = p_runner AND j.outcome IS NULL;
{BROKEN.format("job", "p_job")}
    UPDATE judging_delivery d SET ended_at = moment, ending = 'reported' WHERE d.token = p_token;
    UPDATE runners_runner u SET jobs_done = jobs_done + 1 WHERE u.id = p_runner;
{NEXT}
    UPDATE judging_thread t SET
        n = held.n + 1, tail = chained, last_at = moment, head = next.head, head_priority = next.head_priority,
        head_created_at = next.head_created_at, running = NULL, claimable = r.more
        WHERE t.id = held.id AND t.n = held.n AND t.running = p_job;
{BROKEN.format("thread", "held.id")}
    answer := 'taken';
    submission := r.submission_id;
    fresh := r.more;
    IF fresh THEN
        -- Whoever clears `active` takes FOR UPDATE: nobody overlooks what has just become claimable.
        PERFORM 1 FROM judging_lane l WHERE l.id = held.lane_id FOR KEY SHARE;
        UPDATE judging_lane l SET active = true WHERE l.id = held.lane_id AND NOT l.active;
        SELECT l.problem_type, l.external, l.pools INTO problem_type, external, pools FROM judging_lane l WHERE l.id = held.lane_id;
    END IF;
    RETURN NEXT;
END
$$;
"""


def _over(function: str) -> str:
    return function.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", 1)


class Migration(migrations.Migration):
    """The functions; what these no longer call goes in 0023."""

    dependencies = [("judging", "0021_rows_hold")]

    operations = [
        migrations.RunSQL([PICKING, CLAIM, REPORT], [before.PICK, *(_over(text) for text in (before.CLAIM, before.REPORT))]),
        # Checked when a claim commits, which costs it 30 µs: a delivery is written beside its job by one statement, and the
        # audit compares every one with the ledger.
        migrations.AlterField(
            "delivery",
            "job",
            models.ForeignKey(
                db_constraint=False, db_index=False, on_delete=deletion.CASCADE, related_name="delivery_set", to="judging.job"
            ),
        ),
    ]
