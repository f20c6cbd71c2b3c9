"""The one clock of ownership."""

from django.db import migrations

# Not now(), which is the transaction's start: a writer that waited for a lock must never stamp before the record
# in front of it (queue.md §3). The tests put a clock that they can move in its place.
CLOCK = "CREATE FUNCTION judge_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT clock_timestamp()'"


class Migration(migrations.Migration):
    """The function that all lease SQL reads the time from."""

    dependencies = [("runners", "0001_initial")]

    operations = [migrations.RunSQL(CLOCK, "DROP FUNCTION judge_now()")]
