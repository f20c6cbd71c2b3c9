"""A rejudge judges by the version of now: the job's own version decides what is handed out, not the submission's."""

import django.db.models.deletion
from django.db import migrations, models

# As before, but for the version: that of the job. In its own statement for the reason told in 0008.
DOCUMENT = """
CREATE FUNCTION judge_document_of_job(p_job uuid)
RETURNS TABLE (problem_type varchar, package uuid, package_sha256 varchar, files text, props text, version_props text, config text)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF p_job IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY
        SELECT l.problem_type, p.id, coalesce(p.sha256, ''),
            (SELECT coalesce(json_agg(json_build_object('name', f.name, 'fileName', f.file_name, 'fileId', f.file_id,
                    'sha256', s.sha256, 'sizeBytes', s.size_bytes) ORDER BY f.position), '[]')::text
                FROM judging_submissionfile f JOIN judging_storedfile s ON s.id = f.file_id
                WHERE f.submission_id = j.submission_id),
            sub.props, v.props, l.config
        FROM judging_job j
        JOIN judging_submission sub ON sub.id = j.submission_id
        JOIN judging_lane l ON l.id = j.lane_id
        JOIN judging_problemversion v ON v.id = j.version_id
        LEFT JOIN judging_storedfile p ON p.id = v.package_id
        WHERE j.id = p_job;
END
$$;
"""


class Migration(migrations.Migration):
    """The function, and the lane's pinned version; the function it takes the place of stays for a process of before."""

    dependencies = [("judging", "0014_passed_by")]

    operations = [
        migrations.AddField(
            "lane",
            "version",
            models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="judging.problemversion",
            ),
        ),
        migrations.RunSQL(DOCUMENT, "DROP FUNCTION judge_document_of_job"),
    ]
