"""Administrators limit operators to organizations."""

from django.db import migrations


def grant(apps, schema_editor):
    """The permissions, which Django itself would make only after the last migration."""
    from django.contrib.auth.management import create_permissions

    config = apps.get_app_config("contests")
    config.models_module = True
    create_permissions(config, apps=apps, verbosity=0)
    config.models_module = None
    role = apps.get_model("auth", "Group").objects.filter(name="administrator").first()
    if role is not None:
        permissions = apps.get_model("auth", "Permission").objects
        role.permissions.add(*permissions.filter(content_type__app_label="contests", codename__endswith="_operator"))


class Migration(migrations.Migration):

    dependencies = [("contests", "0009_operators")]

    operations = [migrations.RunPython(grant, migrations.RunPython.noop)]
