"""What a row must be, in one constraint a table; and a guard of the ledger that looks once.

PostgreSQL reads every CHECK from its stored text and compiles it anew for each statement that writes: the 23 of a job
were more than half of the time of its update. A function is compiled once a connection, so each table's rules are one constraint
that calls one. It names the rule that is broken, as if each were a constraint of its own.
"""

from django.db import migrations, models

OPEN = "('queued', 'running')"
JOB_RULES = {
    "job_state_known": "r.state IN ('queued', 'running', 'completed', 'cancelled', 'failed', 'superseded')",
    "job_lease_while_running": """num_nulls(r.token, r.runner_id, r.claimed_at, r.lease_until, r.granted)
            = CASE r.state WHEN 'running' THEN 0 ELSE 5 END AND (r.state = 'running' OR NOT r.heard)""",
    "job_channel_while_running": "r.state = 'running' AND r.channel OR NOT r.channel AND r.started_at IS NULL",
    "job_lost_has_failed": "r.lost IS NULL OR r.state = 'failed'",
    "job_outcome_has_sender": "r.outcome IS NULL OR r.channel OR r.lost IS NOT NULL",
    "job_finished_has_time": f"(r.finished_at IS NULL) = (r.state IN {OPEN})",
    "job_counts_hold": """r.deliveries BETWEEN 0 AND r.cap AND r.cap >= 1 AND r.fence >= r.deliveries AND r.attempt >= 1
            AND least(r.priority, r.releases, r.refunds, r.granted, r.timeout) >= 0""",
    "job_running_is_delivered": "r.state <> 'running' OR r.deliveries >= 1",
    "job_failed_has_reason": "r.state <> 'failed' OR r.reason IS NOT NULL",
    "job_superseded_names_its_heir": "(r.state = 'superseded') = (r.replaced_by IS NOT NULL)",
    "job_voided_was_completed": "r.voided_at IS NULL OR r.state = 'completed'",
}
THREAD_RULES = {
    "thread_claimable_is_free_head": "r.claimable = (r.head IS NOT NULL AND r.running IS NULL)",
    "thread_head_whole": "num_nulls(r.head, r.head_priority, r.head_created_at) IN (0, 3) AND coalesce(r.head_priority, 0) >= 0",
}


def holds(name: str, table: str, rules: dict[str, str]) -> list[str]:
    """The function and its constraint. All rules are tried together first: each expression is set up in each transaction.

    A constraint means what it meant when it was made, whatever operators a session puts before PostgreSQL's; so does this. A rule that
    is neither true nor false is refused, as by no CHECK: then the table's constraint is the one that is named.
    """
    all_of_them = "\n        AND ".join(f"({rule})" for rule in rules.values())
    one_by_one = "\n".join(
        f"""    IF NOT ({rule}) THEN
        RAISE EXCEPTION 'row % of {table} breaks {broken}', r.id USING ERRCODE = 'check_violation', TABLE = '{table}', CONSTRAINT = '{broken}';
    END IF;"""
        for broken, rule in rules.items()
    )
    function = f"""
CREATE FUNCTION judge_{name}(r {table}) RETURNS boolean LANGUAGE plpgsql IMMUTABLE
    SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF {all_of_them} THEN
        RETURN true;
    END IF;
{one_by_one}
    RETURN false;
END
$$;
"""
    return [function, f"ALTER TABLE {table} ADD CONSTRAINT {name} CHECK (judge_{name}({table}))"]


# An update, which is nearly all there is, takes the first branch: its conditions and one look into the ledger. As in 0020
# neither a table nor an operator of a session's own deceives it.
GUARD = """
DO $outer$
BEGIN
    EXECUTE format($text$
CREATE OR REPLACE FUNCTION judge_job_needs_record() RETURNS trigger LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF NEW.n <= OLD.n OR NEW.id <> OLD.id OR NEW.thread_id <> OLD.thread_id THEN
            RAISE EXCEPTION 'job %% changes without a new ledger record', OLD.id USING ERRCODE = 'AZ003';
        END IF;
        PERFORM 1 FROM %1$I.judging_ledgerrecord r WHERE r.thread = NEW.thread_id AND r.n = NEW.n AND r.job = NEW.id;
    ELSIF TG_OP = 'INSERT' THEN
        PERFORM 1 FROM %1$I.judging_ledgerrecord r WHERE r.thread = NEW.thread_id AND r.n = NEW.n AND r.job = NEW.id;
    ELSE
        PERFORM 1 FROM %1$I.judging_ledgerrecord r
            WHERE r.thread = OLD.thread_id AND r.job = OLD.id AND r.n > OLD.n AND r.type = 'reclaimed';
    END IF;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'job %% changes without a ledger record', coalesce(NEW.id, OLD.id) USING ERRCODE = 'AZ003';
    END IF;
    RETURN NULL;
END
$$
$text$, current_schema());
END
$outer$;
"""
GUARD_BEFORE = """
CREATE OR REPLACE FUNCTION judge_job_needs_record() RETURNS trigger LANGUAGE plpgsql AS $$
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
DO $$ BEGIN EXECUTE format('ALTER FUNCTION judge_job_needs_record() SET search_path = %I, pg_temp', current_schema()); END $$;
"""
LOOSEN = [
    "ALTER TABLE judging_job DROP CONSTRAINT job_holds",
    "DROP FUNCTION judge_job_holds(judging_job)",
    "ALTER TABLE judging_thread DROP CONSTRAINT thread_holds",
    "DROP FUNCTION judge_thread_holds(judging_thread)",
]
NUMBERS = {
    "attempt": models.IntegerField(),
    "cap": models.SmallIntegerField(),
    "deliveries": models.SmallIntegerField(default=0),
    "fence": models.IntegerField(default=0),
    "granted": models.IntegerField(null=True),
    "priority": models.SmallIntegerField(choices=[(0, "urgent"), (1, "contest"), (2, "practice"), (3, "rejudge"), (4, "jury")]),
    "refunds": models.SmallIntegerField(default=0),
    "releases": models.IntegerField(default=0),
    "timeout": models.IntegerField(default=3600),
}


class Migration(migrations.Migration):
    """The rules' two functions in place of the constraints; the trigger's function."""

    dependencies = [("judging", "0020_not_deceived")]

    operations = [
        migrations.RunSQL(
            [*holds("job_holds", "judging_job", JOB_RULES), *holds("thread_holds", "judging_thread", THREAD_RULES), GUARD],
            [*LOOSEN, GUARD_BEFORE],
        ),
        *(migrations.RemoveConstraint("job", name) for name in JOB_RULES),
        *(migrations.RemoveConstraint("thread", name) for name in THREAD_RULES),
        # A started job is one of a thread (job_one_started_per_thread), and a running one has started (job_running_is_delivered).
        migrations.RemoveConstraint("job", "job_one_running_per_thread"),
        *(migrations.AlterField("job", name, field) for name, field in NUMBERS.items()),
        migrations.AlterField("delivery", "fence", models.IntegerField()),
        migrations.AlterField("thread", "head_priority", models.SmallIntegerField(editable=False, null=True)),
    ]
