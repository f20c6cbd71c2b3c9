"""Who may reserve a room: those who run contests."""

from django.db import migrations


def grant(apps, schema_editor):
    """The permissions, which Django itself would make only after the last migration."""
    from django.contrib.auth.management import create_permissions

    config = apps.get_app_config("contests")
    config.models_module = True
    create_permissions(config, apps=apps, verbosity=0)
    config.models_module = None
    Group, Permission = apps.get_model("auth", "Group"), apps.get_model("auth", "Permission")
    for name in ("contest operator", "administrator"):
        role = Group.objects.filter(name=name).first()
        if role is not None:
            role.permissions.add(*Permission.objects.filter(content_type__app_label="contests", codename="reserve_room"))


class Migration(migrations.Migration):

    dependencies = [("contests", "0007_rooms")]

    operations = [migrations.RunPython(grant, migrations.RunPython.noop)]
