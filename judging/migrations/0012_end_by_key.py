"""End a delivery by its key, whatever the planner believes of the table's size."""

from importlib import import_module

from django.db import migrations

channel = import_module("judging.migrations.0007_channel")

JOINED = """
        UPDATE judging_delivery d SET ended_at = p_at, ending = e->>'ending'
            FROM jsonb_array_elements(p_ended) e WHERE d.token = (e->>'token')::uuid;
"""
# One by one: of a JSON array the planner believes that it has a hundred elements, and for so many it would rather read
# the whole table of deliveries while it is young, by a plan that is kept while the table grows.
BY_KEY = """
        FOR item IN SELECT * FROM jsonb_array_elements(p_ended) LOOP
            UPDATE judging_delivery d SET ended_at = p_at, ending = item->>'ending' WHERE d.token = (item->>'token')::uuid;
        END LOOP;
"""
assert channel.WRITE.count(JOINED) == 1
WRITE = channel.WRITE.replace(JOINED, BY_KEY)


class Migration(migrations.Migration):
    """The function."""

    dependencies = [("judging", "0011_exclusion")]

    operations = [migrations.RunSQL(WRITE, channel.WRITE)]
