"""Who may exclude a submission: those who run contests."""

from django.db import migrations

GRANTED = {"contest operator": ["exclude_submission"], "administrator": ["exclude_submission"]}


def grant(apps, schema_editor):
    """The permission, which Django itself would make only after the last migration."""
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

    dependencies = [("contests", "0004_channel_keys_of_administrators"), ("judging", "0011_exclusion")]

    operations = [migrations.RunPython(grant, migrations.RunPython.noop)]
