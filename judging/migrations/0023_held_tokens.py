"""The index of lease tokens holds those that are held, not a blank for each job that ever was; and unused functions go."""

from importlib import import_module

from django.db import migrations, models

first, eighth, fifteenth, sixteenth = (
    import_module(f"judging.migrations.{name}")
    for name in ("0002_functions", "0008_fewer_round_trips", "0015_versions_of_now", "0016_claim_at_once")
)
UNUSED = {
    "judge_hold(uuid, uuid, boolean)": first.HOLD,
    "judge_document(uuid)": eighth.DOCUMENT,
    "judge_document_of_job(uuid)": fifteenth.DOCUMENT,
    "judge_canonical(judging_job)": sixteenth.CANONICAL,
}


class Migration(migrations.Migration):
    """An index that reports, submissions and returns need not write, and no function that nobody calls."""

    dependencies = [("judging", "0022_fewer_statements")]

    operations = [
        migrations.RemoveConstraint("job", "job_token_once"),
        migrations.AddConstraint(
            "job", models.UniqueConstraint(fields=["token"], condition=models.Q(token__isnull=False), name="job_token_once")
        ),
        migrations.RunSQL([f"DROP FUNCTION {name}" for name in UNUSED], [*UNUSED.values()]),
    ]
