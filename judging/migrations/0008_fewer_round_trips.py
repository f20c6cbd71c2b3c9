"""Fewer round trips for the calls runners make all day, and fewer indexes for each of their writes to keep up."""

import django.db.models.deletion
from django.db import migrations, models

# What never changes once a job exists, in the claim's own statement. A function, because each statement in one sees
# what was committed before *it* began: joined to the claim's statement itself, these tables would be read as they
# were before the thread was locked, and a submission that came in between would be missing.
DOCUMENT = """
CREATE FUNCTION judge_document(p_submission uuid)
RETURNS TABLE (problem_type varchar, package uuid, package_sha256 varchar, files text, props text, version_props text, config text)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF p_submission IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY
        SELECT l.problem_type, p.id, coalesce(p.sha256, ''),
            (SELECT coalesce(json_agg(json_build_object('name', f.name, 'fileName', f.file_name, 'fileId', f.file_id,
                    'sha256', s.sha256, 'sizeBytes', s.size_bytes) ORDER BY f.position), '[]')::text
                FROM judging_submissionfile f JOIN judging_storedfile s ON s.id = f.file_id
                WHERE f.submission_id = p_submission),
            sub.props, v.props, l.config
        FROM judging_submission sub
        JOIN judging_lane l ON l.id = sub.lane_id
        JOIN judging_problemversion v ON v.id = sub.version_id
        LEFT JOIN judging_storedfile p ON p.id = v.package_id
        WHERE sub.id = p_submission;
END
$$;
"""

# Whom a bearer token speaks for, and how far the doors are open: asked before anything else on every call of a runner,
# so one row that is always there, planned once.
STANDING = """
CREATE FUNCTION judge_standing(p_digest bytea)
RETURNS TABLE (level varchar, reason varchar, runner uuid, state varchar, problem_types text[], external boolean, tags varchar[],
    remaining interval, unseen interval)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    moment timestamptz := judge_now();
BEGIN
    RETURN QUERY
        SELECT coalesce(i.level, 'open'), coalesce(i.reason, ''), r.id, r.state, r.problem_types, r.external, r.tags,
            t.expires_at - moment, moment - r.last_seen_at
        FROM (VALUES (1)) one (id)
        LEFT JOIN judging_installation i ON i.id = one.id
        LEFT JOIN (runners_bearertoken t JOIN runners_runner r ON r.id = t.runner_id) ON t.digest = p_digest AND t.expires_at > moment;
END
$$;
"""

UNDO = "DROP FUNCTION judge_standing, judge_document"


# Foreign keys that another index of their table begins with, or that only a deletion would look up. By name: AlterField
# would drop every index of the column, partial unique ones that keep invariants included.
INDEXES = {
    "judging_job_lane_id_4fc2cbbb": "judging_job (lane_id)",
    "judging_job_submission_id_3cea9c1f": "judging_job (submission_id)",
    "judging_job_version_id_06467742": "judging_job (version_id)",
    "judging_job_runner_id_6d010333": "judging_job (runner_id)",
    "judging_delivery_job_id_4aa73afa": "judging_delivery (job_id)",
    "judging_delivery_runner_id_9c57743e": "judging_delivery (runner_id)",
}


def key(to, name, on_delete=django.db.models.deletion.PROTECT, **more):
    return models.ForeignKey(db_index=False, on_delete=on_delete, related_name=name, to=to, **more)


def runner(name):
    return key("runners.runner", name, django.db.models.deletion.DO_NOTHING, db_constraint=False, null=True)


class Migration(migrations.Migration):
    """Functions; foreign keys without an index of their own."""

    dependencies = [("judging", "0007_channel"), ("runners", "0003_permissions")]

    operations = [
        migrations.RunSQL([DOCUMENT, STANDING], UNDO),
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(f"DROP INDEX {name}", f"CREATE INDEX {name} ON {columns}") for name, columns in INDEXES.items()
            ],
            state_operations=[
                migrations.AlterField("job", "lane", key("judging.lane", "jobs")),
                migrations.AlterField("job", "submission", key("judging.submission", "jobs")),
                migrations.AlterField("job", "version", key("judging.problemversion", "+")),
                migrations.AlterField("job", "runner", runner("held_jobs")),
                migrations.AlterField("delivery", "job", key("judging.job", "delivery_set", django.db.models.deletion.CASCADE)),
                migrations.AlterField("delivery", "runner", runner("delivery_set")),
            ],
        ),
    ]
