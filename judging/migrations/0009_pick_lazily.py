"""A pick that reads no more than it needs, and leaves lapsed leases to the sweep while there is other work."""

from importlib import import_module

from django.db import migrations

channel = import_module("judging.migrations.0007_channel")

# The claim's pick. The answers are:
#   unapproved   the runner is not approved now, or gone
#   shut         maintenance is not open, or the runner is external and the switch is off
#   ready        the thread whose head this runner takes, locked
#   expired      nothing was ready, but here is a thread whose running job is past its deadline, locked: end that first
#   nothing      no work for this runner
# FOR KEY SHARE on the runner orders the claim against a revocation, which takes FOR UPDATE: a hand-out
# committed after the revocation is impossible, one committed before it is seen by its sweep.
# First the 16 oldest claimable threads, whatever their lane: strict order, almost always enough. A cursor, because a
# FOR loop would read ten of them before the first is tried; `claimable` is asked again when the row is locked, for
# whoever held it a moment ago may have taken its head. Then the head of each eligible active lane, so that the cost
# grows with the work this runner may take and never with the work it may not. Rows locked by other claims are
# skipped: no claim waits for another.
# Lapsed leases come last. While there is other work, ending them is the sweep's, which is never more than seconds
# away: ten thousand of them after a power cut would otherwise be ended by the runners' own claims, each paying for
# several before it gets its job.
PICK = """
CREATE OR REPLACE FUNCTION judge_pick(p_runner uuid, p_lapsed boolean)
RETURNS TABLE (answer text, thread uuid) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    runner runners_runner;
    switches judging_installation;
    tags varchar[];
    picked uuid;
    candidate record;
    oldest CURSOR FOR
        SELECT w.id FROM (
            SELECT o.id, o.lane_id, o.head_priority, o.head_created_at, o.head FROM judging_thread o WHERE o.claimable
            ORDER BY o.head_priority, o.head_created_at, o.head LIMIT 16) w
        JOIN judging_lane l ON l.id = w.lane_id
        WHERE l.problem_type = ANY (runner.problem_types) AND l.external = runner.external
          AND l.pools && tags AND l.paused_at IS NULL
        ORDER BY w.head_priority, w.head_created_at, w.head;
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
    tags := CASE WHEN cardinality(runner.tags) = 0 THEN ARRAY['default']::varchar[] ELSE runner.tags END;
    OPEN oldest;
    LOOP
        FETCH oldest INTO candidate;
        EXIT WHEN NOT FOUND;
        SELECT t.id INTO picked FROM judging_thread t WHERE t.id = candidate.id AND t.claimable
            FOR NO KEY UPDATE SKIP LOCKED;
        EXIT WHEN picked IS NOT NULL;
    END LOOP;
    CLOSE oldest;
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
    IF picked IS NOT NULL THEN
        RETURN QUERY SELECT 'ready'::text, picked;
        RETURN;
    END IF;
    IF p_lapsed THEN
        SELECT t.id INTO picked FROM judging_job j JOIN judging_thread t ON t.id = j.thread_id
            WHERE j.state = 'running' AND j.lease_until <= judge_now() AND j.outcome IS NULL
            ORDER BY j.lease_until LIMIT 1 FOR NO KEY UPDATE OF t SKIP LOCKED;
    END IF;
    RETURN QUERY SELECT CASE WHEN picked IS NULL THEN 'nothing' ELSE 'expired' END, picked;
END
$$;
"""


class Migration(migrations.Migration):
    """The function."""

    dependencies = [("judging", "0008_fewer_round_trips")]

    operations = [migrations.RunSQL(PICK, channel.PICK)]
