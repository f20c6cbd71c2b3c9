"""A submission may be excluded from the count without being withdrawn."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("judging", "0010_flat_hold")]

    operations = [
        migrations.AlterModelOptions(
            name="submission",
            options={
                "ordering": ["-created_at"],
                "permissions": [
                    ("rejudge_submission", "Can rejudge a submission"),
                    ("exclude_submission", "Can exclude a submission and count it again"),
                ],
            },
        ),
        migrations.AddField("submission", "excluded_at", models.DateTimeField(editable=False, null=True)),
        migrations.AddField("submission", "excluded_reason", models.TextField(blank=True, db_default="", default="", editable=False)),
    ]
