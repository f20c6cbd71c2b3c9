"""The triggers that guard the ledger look in its own schema, whatever a session puts before it.

A temporary table hides any of the same name, and a session that made one of the ledger's could change a job without a
record. The schema is the one that is migrated, so it is named here and not in the functions' texts.
"""

from django.db import migrations

GUARDS = ("judge_job_needs_record", "judge_seal_thread")
EACH = f"""
DO $$
DECLARE
    guard regprocedure;
BEGIN
    FOR guard IN SELECT p.oid FROM pg_proc p WHERE p.proname IN {GUARDS} AND p.pronamespace = current_schema()::regnamespace LOOP
        EXECUTE format({{what}});
    END LOOP;
END
$$;
"""
FIX = EACH.format(what="'ALTER FUNCTION %s SET search_path = %I, pg_temp', guard, current_schema()")
LOOSEN = EACH.format(what="'ALTER FUNCTION %s RESET search_path', guard")


class Migration(migrations.Migration):
    """Where the functions look."""

    dependencies = [("judging", "0019_job_class")]

    operations = [migrations.RunSQL(FIX, LOOSEN)]
