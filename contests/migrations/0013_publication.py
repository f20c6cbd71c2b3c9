"""Final results that were published, which nothing changes afterwards."""

import django.db.models.deletion
from django.db import migrations, models

import runners.keys

STAY = """
CREATE FUNCTION contest_publications_stay() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'published results stay as they are: % is refused', TG_OP USING ERRCODE = 'AZ002';
END
$$;
CREATE TRIGGER publications_stay BEFORE UPDATE OR DELETE ON contests_publication
    FOR EACH ROW EXECUTE FUNCTION contest_publications_stay();
CREATE TRIGGER no_publication_truncated BEFORE TRUNCATE ON contests_publication
    FOR EACH STATEMENT EXECUTE FUNCTION contest_publications_stay();
"""
UNDO = """
DROP TRIGGER no_publication_truncated ON contests_publication;
DROP TRIGGER publications_stay ON contests_publication;
DROP FUNCTION contest_publications_stay;
"""
SEES = ["view_publication"]
PUBLISHES = [*SEES, "publish_results"]
GRANTED = {"observer": SEES, "judge": SEES, "contest operator": PUBLISHES, "administrator": PUBLISHES}


def grant(apps, schema_editor):
    """The permissions, which Django itself would make only after the last migration."""
    from django.contrib.auth.management import create_permissions  # noqa: PLC0415 - not before the apps are there

    config = apps.get_app_config("contests")
    config.models_module = True
    create_permissions(config, apps=apps, verbosity=0)
    config.models_module = None
    roles, permissions = apps.get_model("auth", "Group").objects, apps.get_model("auth", "Permission").objects
    for name, codenames in GRANTED.items():
        role = roles.filter(name=name).first()
        if role is not None:
            role.permissions.add(*permissions.filter(content_type__app_label="contests", codename__in=codenames))


class Migration(migrations.Migration):
    """The table, its triggers, the roles."""

    dependencies = [("contests", "0012_roles_verification")]

    operations = [
        migrations.CreateModel(
            name="Publication",
            fields=[
                ("id", models.UUIDField(default=runners.keys.new_id, editable=False, primary_key=True, serialize=False)),
                ("number", models.PositiveIntegerField()),
                ("at", models.DateTimeField()),
                ("by", models.CharField(max_length=100)),
                ("reason", models.TextField()),
                ("document", models.TextField()),
                ("sha256", models.CharField(max_length=64)),
                ("results_sha256", models.CharField(max_length=64)),
                ("anchor", models.TextField()),
                (
                    "activity",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="publications", to="contests.activity"),
                ),
            ],
            options={
                "ordering": ["activity", "-number"],
                "permissions": [("publish_results", "Can publish the final results of an activity")],
                "constraints": [models.UniqueConstraint(fields=("activity", "number"), name="publication_number_once")],
            },
        ),
        migrations.RunSQL(STAY, UNDO),
        migrations.RunPython(grant, migrations.RunPython.noop),
    ]
