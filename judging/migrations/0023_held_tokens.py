"""The index of lease tokens holds those that are held, not a blank for each job that ever was; and an unused function goes."""

from importlib import import_module

from django.db import migrations, models

before = import_module("judging.migrations.0016_claim_at_once")


class Migration(migrations.Migration):
    """An index that reports, submissions and returns need not write, and nobody's `judge_canonical`."""

    dependencies = [("judging", "0022_fewer_statements")]

    operations = [
        migrations.RemoveConstraint("job", "job_token_once"),
        migrations.AddConstraint(
            "job", models.UniqueConstraint(fields=["token"], condition=models.Q(token__isnull=False), name="job_token_once")
        ),
        migrations.RunSQL("DROP FUNCTION judge_canonical(judging_job)", before.CANONICAL),
    ]
