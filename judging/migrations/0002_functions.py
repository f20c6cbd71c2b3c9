"""The SQL that must be planned once and run in one round trip, and the triggers that keep the ledger."""

from django.db import migrations

# Lock a thread, then read the clock, then its open jobs and the one asked for. The order is the point: each
# statement of a volatile function sees what was committed before it began, so nothing read here is older
# than the lock. Skipping is for the sweep, which never waits for another worker.
HOLD = """
CREATE FUNCTION judge_hold(p_thread uuid, p_job uuid, p_skip boolean)
RETURNS TABLE (thread judging_thread, at timestamptz, job judging_job) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    held judging_thread;
    moment timestamptz;
BEGIN
    IF p_thread IS NULL THEN
        SELECT j.thread_id INTO p_thread FROM judging_job j WHERE j.id = p_job;
    END IF;
    IF p_skip THEN
        SELECT t.* INTO held FROM judging_thread t WHERE t.id = p_thread FOR NO KEY UPDATE SKIP LOCKED;
    ELSE
        SELECT t.* INTO held FROM judging_thread t WHERE t.id = p_thread FOR NO KEY UPDATE;
    END IF;
    IF held.id IS NULL THEN
        RETURN;
    END IF;
    moment := greatest(judge_now(), held.last_at);
    RETURN QUERY
        SELECT held, moment, j FROM judging_job j WHERE j.thread_id = held.id AND j.state IN ('queued', 'running')
        UNION ALL
        SELECT held, moment, j FROM judging_job j WHERE j.id = p_job AND j.state NOT IN ('queued', 'running');
    IF NOT FOUND THEN
        RETURN QUERY SELECT held, moment, NULL::judging_job;
    END IF;
END
$$;
"""

# The claim's pick. The answers are:
#   unapproved   the runner is not approved now, or gone
#   shut         maintenance is not open, or the runner is external and the switch is off
#   expired      a thread whose running job is past its deadline, locked: end that first
#   ready        the thread whose head this runner takes, locked
#   nothing      no work for this runner
# FOR KEY SHARE on the runner orders the claim against a revocation, which takes FOR UPDATE: a hand-out
# committed after the revocation is impossible, one committed before it is seen by its sweep.
# First the 16 oldest claimable threads, whatever their lane: strict order, almost always enough. Then the
# head of each eligible active lane, so that the cost grows with the work this runner may take and never with
# the work it may not. Rows locked by other claims are skipped: no claim waits for another.
PICK = """
CREATE FUNCTION judge_pick(p_runner uuid, p_lapsed boolean)
RETURNS TABLE (answer text, thread uuid) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    runner runners_runner;
    switches judging_installation;
    tags varchar[];
    picked uuid;
    candidate record;
BEGIN
    SELECT r.* INTO runner FROM runners_runner r WHERE r.id = p_runner FOR KEY SHARE;
    IF runner.id IS NULL OR runner.state <> 'approved' THEN
        RETURN QUERY SELECT 'unapproved'::text, NULL::uuid;
        RETURN;
    END IF;
    SELECT i.* INTO switches FROM judging_installation i WHERE i.id = 1;
    IF coalesce(switches.level, 'open') <> 'open'
        OR (runner.external AND NOT coalesce(switches.external_judging, false)) THEN
        RETURN QUERY SELECT 'shut'::text, NULL::uuid;
        RETURN;
    END IF;
    IF p_lapsed THEN
        SELECT t.id INTO picked FROM judging_job j JOIN judging_thread t ON t.id = j.thread_id
            WHERE j.state = 'running' AND j.lease_until <= judge_now()
            ORDER BY j.lease_until LIMIT 1 FOR NO KEY UPDATE OF t SKIP LOCKED;
        IF picked IS NOT NULL THEN
            RETURN QUERY SELECT 'expired'::text, picked;
            RETURN;
        END IF;
    END IF;
    tags := CASE WHEN cardinality(runner.tags) = 0 THEN ARRAY['default']::varchar[] ELSE runner.tags END;
    SELECT t.id INTO picked FROM judging_thread t JOIN judging_lane l ON l.id = t.lane_id
        WHERE t.claimable
          AND t.id IN (SELECT w.id FROM (
                SELECT o.id FROM judging_thread o WHERE o.claimable
                ORDER BY o.head_priority, o.head_created_at, o.head LIMIT 16) w)
          AND l.problem_type = ANY (runner.problem_types) AND l.external = runner.external
          AND l.pools && tags AND l.paused_at IS NULL
        ORDER BY t.head_priority, t.head_created_at, t.head LIMIT 1 FOR NO KEY UPDATE OF t SKIP LOCKED;
    IF picked IS NULL THEN
        FOR candidate IN
            SELECT l.id FROM judging_lane l, LATERAL (
                SELECT o.head_priority, o.head_created_at, o.head FROM judging_thread o
                WHERE o.lane_id = l.id AND o.claimable
                ORDER BY o.head_priority, o.head_created_at, o.head LIMIT 1) h
            WHERE l.active AND l.problem_type = ANY (runner.problem_types) AND l.external = runner.external
              AND l.pools && tags AND l.paused_at IS NULL
            ORDER BY h.head_priority, h.head_created_at, h.head
        LOOP
            SELECT t.id INTO picked FROM judging_thread t WHERE t.lane_id = candidate.id AND t.claimable
                ORDER BY t.head_priority, t.head_created_at, t.head LIMIT 1 FOR NO KEY UPDATE OF t SKIP LOCKED;
            EXIT WHEN picked IS NOT NULL;
        END LOOP;
    END IF;
    IF picked IS NULL THEN
        RETURN QUERY SELECT 'nothing'::text, NULL::uuid;
    ELSE
        RETURN QUERY SELECT 'ready'::text, picked;
    END IF;
END
$$;
"""

# Everything a verb writes, in one call. Records first: the trigger on the job table looks for them. Jobs that
# end come before jobs that are opened, so that the partial unique indexes never meet both. Each update names
# the state and the lease it leaves; anything but one row means the caller broke the lock's rule. The lane is
# locked FOR KEY SHARE while its work becomes claimable: whoever clears `active` takes FOR UPDATE.
WRITE = """
CREATE FUNCTION judge_write(
    p_thread uuid, p_was bigint, p_n bigint, p_tail bytea, p_at timestamptz,
    p_head uuid, p_priority integer, p_created timestamptz, p_running uuid,
    p_records jsonb, p_opened jsonb, p_moved jsonb, p_handed jsonb, p_ended jsonb)
RETURNS TABLE (fresh boolean, problem_type varchar, external boolean, pools varchar[])
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    item jsonb;
    r judging_job;
    was judging_thread;
    touched integer;
BEGIN
    INSERT INTO judging_ledgerrecord (thread, n, at, v, type, job, actor, data, after, hash)
        SELECT p_thread, (e->>'n')::bigint, (e->>'at')::timestamptz, (e->>'v')::smallint, e->>'type',
               (e->>'job')::uuid, e->>'actor', e->'data', decode(e->>'after', 'hex'), decode(e->>'hash', 'hex')
        FROM jsonb_array_elements(p_records) e;
    FOR item IN SELECT * FROM jsonb_array_elements(p_moved) LOOP
        r := jsonb_populate_record(NULL::judging_job, item->'row');
        UPDATE judging_job j SET
            n = r.n, priority = r.priority, state = r.state, fence = r.fence, deliveries = r.deliveries,
            releases = r.releases, refunds = r.refunds, token = r.token, runner_id = r.runner_id,
            claimed_at = r.claimed_at, lease_until = r.lease_until, granted = r.granted, heard = r.heard,
            admitted = r.admitted, outside_id = r.outside_id, finished_at = r.finished_at, reason = r.reason,
            replaced_by = r.replaced_by, voided_at = r.voided_at, marked = r.marked,
            closed_at_seq = r.closed_at_seq
        WHERE j.id = r.id AND j.state = item->>'state' AND j.token IS NOT DISTINCT FROM (item->>'token')::uuid;
        GET DIAGNOSTICS touched = ROW_COUNT;
        IF touched <> 1 THEN
            RAISE EXCEPTION 'job % is not what it was under the lock', r.id USING ERRCODE = 'AZ001';
        END IF;
    END LOOP;
    IF p_opened <> '[]'::jsonb THEN
        INSERT INTO judging_job SELECT * FROM jsonb_populate_recordset(NULL::judging_job, p_opened);
    END IF;
    IF p_ended <> '[]'::jsonb THEN
        UPDATE judging_delivery d SET ended_at = p_at, ending = e->>'ending'
            FROM jsonb_array_elements(p_ended) e WHERE d.token = (e->>'token')::uuid;
    END IF;
    IF p_handed <> '[]'::jsonb THEN
        INSERT INTO judging_delivery SELECT * FROM jsonb_populate_recordset(NULL::judging_delivery, p_handed);
    END IF;
    SELECT t.* INTO was FROM judging_thread t WHERE t.id = p_thread;
    UPDATE judging_thread t SET
        n = p_n, tail = p_tail, last_at = p_at, head = p_head, head_priority = p_priority,
        head_created_at = p_created, running = p_running,
        claimable = (p_head IS NOT NULL AND p_running IS NULL)
        WHERE t.id = p_thread AND t.n = p_was;
    GET DIAGNOSTICS touched = ROW_COUNT;
    IF touched <> 1 THEN
        RAISE EXCEPTION 'thread % is not what it was under the lock', p_thread USING ERRCODE = 'AZ001';
    END IF;
    IF p_head IS NULL OR p_running IS NOT NULL OR (was.claimable AND was.head = p_head) THEN
        RETURN QUERY SELECT false, NULL::varchar, NULL::boolean, NULL::varchar[];
        RETURN;
    END IF;
    PERFORM 1 FROM judging_lane l WHERE l.id = was.lane_id FOR KEY SHARE;
    UPDATE judging_lane l SET active = true WHERE l.id = was.lane_id AND NOT l.active;
    RETURN QUERY SELECT true, l.problem_type, l.external, l.pools FROM judging_lane l WHERE l.id = was.lane_id;
END
$$;
"""

# Append-only is enforced (ledger.md §2): the ledger takes inserts only, and a job row changes only together
# with a new record of its thread that tells of it.
TRIGGERS = """
CREATE FUNCTION judge_ledger_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the ledger is append-only: % is refused', TG_OP USING ERRCODE = 'AZ002';
END
$$;
CREATE TRIGGER ledger_rows_stay BEFORE UPDATE OR DELETE ON judging_ledgerrecord
    FOR EACH ROW EXECUTE FUNCTION judge_ledger_is_append_only();
CREATE TRIGGER ledger_stays BEFORE TRUNCATE ON judging_ledgerrecord
    FOR EACH STATEMENT EXECUTE FUNCTION judge_ledger_is_append_only();

CREATE FUNCTION judge_job_needs_record() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    subject judging_job := CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM 1 FROM judging_ledgerrecord r
            WHERE r.thread = OLD.thread_id AND r.job = OLD.id AND r.n > OLD.n AND r.type = 'reclaimed';
    ELSIF TG_OP = 'UPDATE' AND (NEW.n <= OLD.n OR NEW.id <> OLD.id OR NEW.thread_id <> OLD.thread_id) THEN
        RAISE EXCEPTION 'job % changes without a new ledger record', OLD.id USING ERRCODE = 'AZ003';
    ELSE
        PERFORM 1 FROM judging_ledgerrecord r
            WHERE r.thread = NEW.thread_id AND r.n = NEW.n AND r.job = NEW.id;
    END IF;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'job % changes without a ledger record', subject.id USING ERRCODE = 'AZ003';
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER job_needs_record AFTER INSERT OR UPDATE OR DELETE ON judging_job
    FOR EACH ROW EXECUTE FUNCTION judge_job_needs_record();
CREATE FUNCTION judge_jobs_stay() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'jobs are not truncated: each leaves with its ledger record' USING ERRCODE = 'AZ003';
END
$$;
CREATE TRIGGER jobs_stay BEFORE TRUNCATE ON judging_job FOR EACH STATEMENT EXECUTE FUNCTION judge_jobs_stay();
"""

# Tables that change at every move: room for updates in place, and vacuum before bloat is felt (performance §2).
STORAGE = """
ALTER TABLE judging_job SET (fillfactor = 85, autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
ALTER TABLE judging_thread SET (fillfactor = 85, autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
"""

UNDO = """
DROP TRIGGER jobs_stay ON judging_job;
DROP TRIGGER job_needs_record ON judging_job;
DROP TRIGGER ledger_stays ON judging_ledgerrecord;
DROP TRIGGER ledger_rows_stay ON judging_ledgerrecord;
DROP FUNCTION judge_jobs_stay, judge_job_needs_record, judge_ledger_is_append_only;
DROP FUNCTION judge_write, judge_pick, judge_hold;
"""


class Migration(migrations.Migration):
    """Functions, triggers and storage parameters of the queue."""

    dependencies = [("judging", "0001_initial"), ("runners", "0002_clock")]

    operations = [
        migrations.RunSQL([HOLD, PICK, WRITE, TRIGGERS, STORAGE], UNDO),
    ]
