"""Administrators may do what was added to the runners since the roles were made: keys for the channel."""

from django.db import migrations


def grant(apps, schema_editor):
    """Whatever the runners' and judging's apps have come to allow since the roles were made."""
    from django.contrib.auth.management import create_permissions

    labels = ("runners", "judging")
    for label in labels:
        config = apps.get_app_config(label)
        config.models_module = True
        create_permissions(config, apps=apps, verbosity=0)
        config.models_module = None
    administrator = apps.get_model("auth", "Group").objects.filter(name="administrator").first()
    if administrator is not None:
        administrator.permissions.add(*apps.get_model("auth", "Permission").objects.filter(content_type__app_label__in=labels))


class Migration(migrations.Migration):

    dependencies = [("contests", "0003_roles"), ("runners", "0004_channel"), ("judging", "0006_operators")]

    operations = [migrations.RunPython(grant, migrations.RunPython.noop)]
