"""A result outlives its job's row, so it names the submission and the attempt itself; a submission counts attempts."""

import django.db.models.deletion
from django.db import migrations, models

FILL = """
UPDATE judging_result r SET submission_id = j.submission_id, attempt = j.attempt FROM judging_job j WHERE j.id = r.job_id
"""
COUNT = """
UPDATE judging_submission s SET attempts = coalesce((SELECT max(j.attempt) FROM judging_job j WHERE j.submission_id = s.id), 0)
"""


class Migration(migrations.Migration):
    """Result: submission and attempt of its own, no constraint on the job."""

    dependencies = [("judging", "0004_ledger_proof")]

    operations = [
        migrations.AddField(
            "result",
            "submission",
            models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="results", to="judging.submission"
            ),
        ),
        migrations.AddField("result", "attempt", models.PositiveIntegerField(default=1), preserve_default=False),
        migrations.AddField("submission", "attempts", models.PositiveIntegerField(default=0, editable=False)),
        migrations.RunSQL(COUNT, migrations.RunSQL.noop),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        # The fill leaves events of the constraint behind; the table cannot be altered while any are pending.
        migrations.RunSQL("SET CONSTRAINTS ALL IMMEDIATE", migrations.RunSQL.noop),
        migrations.AlterField(
            "result",
            "submission",
            models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="results", to="judging.submission"),
        ),
        migrations.AlterField(
            "result",
            "job",
            models.OneToOneField(
                db_constraint=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="result",
                to="judging.job",
            ),
        ),
    ]
