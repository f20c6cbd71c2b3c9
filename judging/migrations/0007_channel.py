"""What runs on the channel need: their own columns of a job, stored outcomes, and a problem's time and adapter."""

from importlib import import_module

import judging.rows
import judging.states
import runners.keys
from django.core.validators import MinValueValidator
from django.db import migrations, models
from django.db.models import Q

functions = import_module("judging.migrations.0002_functions")


def _replaced(sql: str, old: str, new: str) -> str:
    assert sql.count(old) == 1
    return sql.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION").replace(old, new)


# A job whose outcome has arrived is nobody's to take away: its deadline means nothing any more.
PICK = _replaced(functions.PICK, "AND j.lease_until <= judge_now()", "AND j.lease_until <= judge_now() AND j.outcome IS NULL")
WRITE = _replaced(
    functions.WRITE,
    "closed_at_seq = r.closed_at_seq",
    "closed_at_seq = r.closed_at_seq, channel = r.channel, started_at = r.started_at, outcome = r.outcome, lost = r.lost",
)


class Migration(migrations.Migration):
    """Columns, outcomes, functions."""

    dependencies = [("judging", "0006_operators")]

    operations = [
        migrations.CreateModel(
            name="Outcome",
            fields=[
                ("id", models.UUIDField(default=runners.keys.new_id, editable=False, primary_key=True, serialize=False)),
                ("token", models.UUIDField(editable=False)),
                ("job", models.UUIDField(db_index=True, editable=False)),
                ("runner", models.UUIDField(editable=False)),
                ("problem", models.UUIDField(editable=False)),
                ("kind", models.CharField(choices=[("completed", "completed"), ("failed", "failed")], max_length=16)),
                ("error", models.TextField(blank=True, default="")),
                ("created_at", models.DateTimeField()),
                ("processed_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["created_at"],
                "indexes": [
                    models.Index(condition=Q(("processed_at__isnull", True)), fields=["created_at"], name="outcome_to_process")
                ],
                "constraints": [models.UniqueConstraint(fields=("token", "kind"), name="outcome_once_a_delivery")],
            },
        ),
        migrations.AlterField(
            "ledgerrecord",
            "type",
            models.CharField(max_length=16, choices=[(kind.value, kind.value) for kind in judging.states.RecordType]),
        ),
        migrations.AddField("job", "channel", models.BooleanField(default=False)),
        migrations.AddField("job", "lost", models.UUIDField(null=True)),
        migrations.AddField("job", "outcome", models.UUIDField(null=True)),
        migrations.AddField("job", "started_at", models.DateTimeField(null=True)),
        migrations.AddField("job", "timeout", models.PositiveIntegerField(default=judging.rows.DEFAULT_TIMEOUT_SECONDS)),
        migrations.AddField(
            "problem",
            "adapter",
            models.CharField(
                choices=[
                    ("json", "the first JSON object with a verdict"),
                    ("exit-code", "accepted when every exit code is zero"),
                ],
                default="json",
                max_length=16,
            ),
        ),
        migrations.AddField(
            "problem",
            "timeout_seconds",
            models.PositiveIntegerField(
                default=judging.rows.DEFAULT_TIMEOUT_SECONDS, validators=[MinValueValidator(1)]
            ),
        ),
        migrations.AddConstraint(
            "problem", models.CheckConstraint(condition=Q(("timeout_seconds__gte", 1)), name="problem_has_time")
        ),
        migrations.AddConstraint(
            "job",
            models.CheckConstraint(
                condition=Q(("channel", True), ("state", "running")) | Q(("channel", False), ("started_at__isnull", True)),
                name="job_channel_while_running",
            ),
        ),
        migrations.AddConstraint(
            "job",
            models.CheckConstraint(condition=Q(("lost__isnull", True)) | Q(("state", "failed")), name="job_lost_has_failed"),
        ),
        migrations.AddConstraint(
            "job",
            models.CheckConstraint(
                condition=Q(("outcome__isnull", True), ("channel", True), ("lost__isnull", False), _connector="OR"),
                name="job_outcome_has_sender",
            ),
        ),
        migrations.RunSQL(
            [PICK, WRITE],
            [
                functions.PICK.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"),
                functions.WRITE.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"),
            ],
        ),
    ]
