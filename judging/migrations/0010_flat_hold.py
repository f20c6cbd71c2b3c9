"""The hold in plain columns: taking a field out of a composite value unpacks all of it again, forty times a call."""

from django.db import migrations

THREAD = {
    "id": "uuid",
    "organization": "uuid",
    "lane_id": "uuid",
    "n": "bigint",
    "tail": "bytea",
    "last_at": "timestamptz",
    "head": "uuid",
    "claimable": "boolean",
}
JOB = {
    "id": "uuid",
    "thread_id": "uuid",
    "submission_id": "uuid",
    "lane_id": "uuid",
    "version_id": "uuid",
    "attempt": "integer",
    "priority": "smallint",
    "urgent": "boolean",
    "cap": "smallint",
    "created_at": "timestamptz",
    "state": "varchar",
    "fence": "integer",
    "deliveries": "smallint",
    "releases": "integer",
    "refunds": "smallint",
    "token": "uuid",
    "runner_id": "uuid",
    "claimed_at": "timestamptz",
    "lease_until": "timestamptz",
    "granted": "integer",
    "heard": "boolean",
    "admitted": "boolean",
    "outside_id": "varchar",
    "finished_at": "timestamptz",
    "reason": "text",
    "replaced_by": "uuid",
    "voided_at": "timestamptz",
    "marked": "boolean",
    "closed_at_seq": "bigint",
    "timeout": "integer",
    "channel": "boolean",
    "started_at": "timestamptz",
    "outcome": "uuid",
    "lost": "uuid",
}


def hold(thread, job):
    """The function's text for these columns. Whoever gives the job a column makes the function again with it."""
    answer = [*(f"thread_{name} {kind}" for name, kind in thread.items()), *(f"job_{name} {kind}" for name, kind in job.items())]
    held = ", ".join(f"held.{name}" for name in thread)
    row = ", ".join(f"j.{name}" for name in job)
    nothing = ", ".join(f"NULL::{kind}" for kind in job.values())
    # Lock a thread, then read the clock, then its open jobs and the one asked for. The order is the point: each
    # statement of a volatile function sees what was committed before it began, so nothing read here is older
    # than the lock. Skipping is for the sweep, which never waits for another worker.
    return f"""
CREATE FUNCTION judge_held(p_thread uuid, p_job uuid, p_skip boolean)
RETURNS TABLE (at timestamptz, {", ".join(answer)}) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    held record;
    moment timestamptz;
BEGIN
    IF p_thread IS NULL THEN
        SELECT j.thread_id INTO p_thread FROM judging_job j WHERE j.id = p_job;
    END IF;
    IF p_skip THEN
        SELECT {", ".join(thread)} INTO held FROM judging_thread t WHERE t.id = p_thread FOR NO KEY UPDATE SKIP LOCKED;
    ELSE
        SELECT {", ".join(thread)} INTO held FROM judging_thread t WHERE t.id = p_thread FOR NO KEY UPDATE;
    END IF;
    IF held.id IS NULL THEN
        RETURN;
    END IF;
    moment := greatest(judge_now(), held.last_at);
    RETURN QUERY
        SELECT moment, {held}, {row} FROM judging_job j WHERE j.thread_id = held.id AND j.state IN ('queued', 'running')
        UNION ALL
        SELECT moment, {held}, {row} FROM judging_job j WHERE j.id = p_job AND j.state NOT IN ('queued', 'running');
    IF NOT FOUND THEN
        RETURN QUERY SELECT moment, {held}, {nothing};
    END IF;
END
$$;
"""


class Migration(migrations.Migration):
    """The function; the one it takes the place of stays for a process of the version before."""

    dependencies = [("judging", "0009_pick_lazily")]

    operations = [migrations.RunSQL(hold(THREAD, JOB), "DROP FUNCTION judge_held")]
