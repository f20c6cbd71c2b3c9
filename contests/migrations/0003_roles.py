"""The operators' roles, as groups with no more than each needs."""

from django.db import migrations

APPS = ("runners", "judging", "contests", "auth", "otp_totp", "axes")

SEE = {
    "runners": ["view_runner", "view_pool"],
    "judging": [
        "view_job",
        "view_submission",
        "view_lane",
        "view_delivery",
        "view_ledgerrecord",
        "view_problem",
        "view_problemversion",
        "view_installation",
    ],
    "contests": ["view_organization", "view_activity", "view_round", "view_assignment", "view_participant"],
}
READ_SOURCES = {"judging": ["view_submissionfile", "view_attachment", "view_runnerattachment"]}
REJUDGE = {"judging": ["rejudge_submission"]}
RUN_CONTESTS = {
    "runners": ["approve_runner", "revoke_runner", "retag_runner", "add_pool", "change_pool"],
    "judging": ["cancel_job", "give_back_job", "void_job", "pause_lane", "add_problem", "change_problem", "add_problemversion"],
    "contests": [
        "add_activity",
        "change_activity",
        "retag_activity",
        "add_round",
        "change_round",
        "retag_round",
        "add_assignment",
        "change_assignment",
        "add_participant",
        "change_participant",
    ],
}
ROLES = {
    "observer": (SEE,),
    "judge": (SEE, READ_SOURCES, REJUDGE),
    "contest operator": (SEE, READ_SOURCES, REJUDGE, RUN_CONTESTS),
}


def make_roles(apps, schema_editor):
    """Groups with their permissions, which Django itself would make only after the last migration."""
    from django.contrib.auth.management import create_permissions

    for label in APPS:
        config = apps.get_app_config(label)
        # A migration's apps have no module of models, and without one nothing is made.
        config.models_module = True
        create_permissions(config, apps=apps, verbosity=0)
        config.models_module = None
    Group, Permission = apps.get_model("auth", "Group"), apps.get_model("auth", "Permission")
    for name, parts in ROLES.items():
        role, _ = Group.objects.get_or_create(name=name)
        for part in parts:
            for app, codenames in part.items():
                role.permissions.add(*Permission.objects.filter(content_type__app_label=app, codename__in=codenames))
    administrator, _ = Group.objects.get_or_create(name="administrator")
    administrator.permissions.add(*Permission.objects.filter(content_type__app_label__in=APPS))


class Migration(migrations.Migration):

    dependencies = [
        ("contests", "0002_permissions"),
        ("judging", "0006_operators"),
        ("runners", "0003_permissions"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("otp_totp", "__first__"),
        ("axes", "__first__"),
    ]

    operations = [migrations.RunPython(make_roles, migrations.RunPython.noop)]
