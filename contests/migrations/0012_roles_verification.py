"""Verifications of problem versions: every role sees them, those who publish versions ask for them."""

from django.db import migrations

SEES = ["view_verification"]
ASKS = [*SEES, "verify_problemversion"]
GRANTED = {"observer": SEES, "judge": ASKS, "contest operator": ASKS, "administrator": ASKS}


def grant(apps, schema_editor):
    """The permissions, which Django itself would make only after the last migration."""
    from django.contrib.auth.management import create_permissions

    config = apps.get_app_config("judging")
    config.models_module = True
    create_permissions(config, apps=apps, verbosity=0)
    config.models_module = None
    Group, Permission = apps.get_model("auth", "Group"), apps.get_model("auth", "Permission")
    for name, codenames in GRANTED.items():
        role = Group.objects.filter(name=name).first()
        if role is not None:
            role.permissions.add(*Permission.objects.filter(content_type__app_label="judging", codename__in=codenames))


class Migration(migrations.Migration):

    dependencies = [("contests", "0011_pinned_lanes"), ("judging", "0018_verification")]

    operations = [migrations.RunPython(grant, migrations.RunPython.noop)]
