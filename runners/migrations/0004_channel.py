"""The channel: keys, what is known of a connected machine, and the hardware a pool declares."""

import django.db.models.deletion
import django.db.models.functions.datetime
import runners.keys
from django.apps.registry import Apps
from django.core.validators import MinValueValidator
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def name_pools(apps: Apps, _: BaseDatabaseSchemaEditor) -> None:
    """An id of its own for each pool that is there."""
    for pool in apps.get_model("runners", "Pool").objects.all():
        pool.uuid = runners.keys.new_id()
        pool.save(update_fields=["uuid"])


def _positive(field: type, default: int, **more: str) -> models.Field:
    return field(default=default, validators=[MinValueValidator(1)], **more)


class Migration(migrations.Migration):
    """Keys, facts, hardware."""

    dependencies = [("runners", "0003_permissions")]

    operations = [
        migrations.AlterModelOptions(
            name="runner",
            options={
                "ordering": ["-registered_at"],
                "permissions": [
                    ("approve_runner", "Can approve a runner's key"),
                    ("revoke_runner", "Can revoke a runner's key"),
                    ("retag_runner", "Can change a runner's tags"),
                    ("key_runner", "Can give a runner a key for the channel"),
                ],
            },
        ),
        migrations.AddField("pool", "uuid", models.UUIDField(null=True, editable=False)),
        migrations.RunPython(name_pools, migrations.RunPython.noop),
        migrations.AlterField(
            "pool", "uuid", models.UUIDField(default=runners.keys.new_id, editable=False, unique=True)
        ),
        migrations.AddField("pool", "os", models.CharField("operating system", max_length=32, default="linux")),
        migrations.AddField("pool", "architecture", models.CharField(max_length=32, default="x86_64")),
        migrations.AddField("pool", "sandbox", models.CharField(max_length=32, default="firecracker")),
        migrations.AddField("pool", "cpu", _positive(models.PositiveIntegerField, 1, verbose_name="processors")),
        migrations.AddField("pool", "memory_bytes", _positive(models.PositiveBigIntegerField, 2**30)),
        migrations.AddField("pool", "disk_bytes", _positive(models.PositiveBigIntegerField, 2**30)),
        migrations.AddField("pool", "network", models.BooleanField(default=False)),
        migrations.AddField(
            "runner", "slug", models.SlugField(max_length=64, unique=True, null=True, blank=True, editable=False)
        ),
        migrations.AddField(
            "runner",
            "transport",
            models.CharField(
                max_length=8,
                choices=[("", "not connected"), ("rest", "REST"), ("channel", "channel")],
                blank=True,
                default="",
                editable=False,
            ),
        ),
        migrations.AddField("runner", "connected_since", models.DateTimeField(null=True, editable=False)),
        migrations.AddField("runner", "os", models.CharField(max_length=32, blank=True, default="", editable=False)),
        migrations.AddField("runner", "arch", models.CharField(max_length=32, blank=True, default="", editable=False)),
        migrations.AddField(
            "runner", "release_channel", models.CharField(max_length=64, blank=True, default="", editable=False)
        ),
        migrations.AddField("runner", "checksum", models.CharField(max_length=128, blank=True, default="", editable=False)),
        migrations.CreateModel(
            name="ChannelKey",
            fields=[
                (
                    "runner",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="channel_key",
                        serialize=False,
                        to="runners.runner",
                    ),
                ),
                ("digest", models.BinaryField(max_length=32, unique=True)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
                ("attempts", models.PositiveIntegerField(default=0, editable=False)),
                (
                    "counted_from",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
                ("line", models.UUIDField(editable=False, null=True)),
                ("line_token", models.UUIDField(editable=False, null=True)),
            ],
        ),
    ]
