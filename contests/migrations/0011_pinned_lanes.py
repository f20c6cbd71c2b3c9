"""Lanes learn which version their assignment is pinned to."""

from django.db import migrations

PIN = """
UPDATE judging_lane l SET version_id = a.version_id FROM contests_assignment a
WHERE a.lane_id = l.id AND a.version_id IS NOT NULL
"""


class Migration(migrations.Migration):
    """Copy the pins there are."""

    dependencies = [("contests", "0010_roles_operators"), ("judging", "0015_versions_of_now")]

    operations = [migrations.RunSQL(PIN, migrations.RunSQL.noop)]
