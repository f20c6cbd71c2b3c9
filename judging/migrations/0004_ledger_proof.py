"""What proving the ledger needs: who wrote each record when, seals of threads that are gone, and the audits made."""

import django.contrib.postgres.fields
from django.db import migrations, models

# The transaction that wrote a record: feeds page by it, because ids are drawn in one order and committed in another
# (ledger.md §5). Records that were there before this migration get its own transaction: all of them are settled.
TRANSACTION = """
ALTER TABLE judging_ledgerrecord ADD COLUMN xid xid8 NOT NULL DEFAULT pg_current_xact_id();
CREATE INDEX ledger_by_transaction ON judging_ledgerrecord (xid, id);
"""

# Which cluster this is, and which of its timelines: a restored dump and a promoted replica are others. Where the
# control functions are forbidden, restores cannot be told and the name is empty.
SERVER = """
CREATE FUNCTION judge_server() RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT s.system_identifier || '/' || c.timeline_id FROM pg_control_system() s, pg_control_checkpoint() c);
EXCEPTION WHEN insufficient_privilege THEN
    RETURN '';
END
$$;
"""

# A thread's row remembers where its ledger ends. When the row goes, that memory must stay, or the last records
# could be cut off unseen.
SEAL = """
CREATE FUNCTION judge_seal_thread() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.n > 0 THEN
        INSERT INTO judging_threadseal (thread, n, tail) VALUES (OLD.id, OLD.n, OLD.tail);
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER thread_leaves_seal AFTER DELETE ON judging_thread FOR EACH ROW EXECUTE FUNCTION judge_seal_thread();
CREATE TRIGGER seals_stay BEFORE UPDATE OR DELETE ON judging_threadseal
    FOR EACH ROW EXECUTE FUNCTION judge_ledger_is_append_only();
CREATE TRIGGER no_seal_truncated BEFORE TRUNCATE ON judging_threadseal
    FOR EACH STATEMENT EXECUTE FUNCTION judge_ledger_is_append_only();
"""

UNDO = """
DROP TRIGGER no_seal_truncated ON judging_threadseal;
DROP TRIGGER seals_stay ON judging_threadseal;
DROP TRIGGER thread_leaves_seal ON judging_thread;
DROP FUNCTION judge_seal_thread, judge_server;
DROP INDEX ledger_by_transaction;
ALTER TABLE judging_ledgerrecord DROP COLUMN xid;
"""


class Migration(migrations.Migration):
    """Transactions, seals, audits."""

    dependencies = [("judging", "0003_permissions")]

    operations = [
        migrations.CreateModel(
            name="Audit",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField()),
                ("server", models.CharField(max_length=64)),
                ("snapshot", models.TextField()),
                (
                    "scope",
                    models.CharField(
                        choices=[
                            ("all", "everything"),
                            ("lanes", "some lanes"),
                            ("threads", "some threads"),
                            ("recent", "threads with news since the last audit"),
                        ],
                        max_length=8,
                    ),
                ),
                (
                    "lanes",
                    django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, size=None),
                ),
                (
                    "result",
                    models.SmallIntegerField(
                        choices=[
                            (0, "equal"),
                            (1, "diverged"),
                            (3, "equal, but records of an unknown kind were skipped"),
                        ]
                    ),
                ),
                ("records", models.BigIntegerField()),
                ("threads", models.BigIntegerField()),
                ("skipped", models.BigIntegerField()),
                ("diverged", models.BigIntegerField()),
                ("words", models.TextField()),
            ],
            options={"ordering": ["-id"]},
        ),
        migrations.CreateModel(
            name="FeedEpoch",
            fields=[
                ("number", models.PositiveIntegerField(primary_key=True, serialize=False)),
                ("server", models.CharField(max_length=64)),
                ("first_id", models.BigIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="ThreadSeal",
            fields=[
                ("thread", models.UUIDField(primary_key=True, serialize=False)),
                ("n", models.BigIntegerField()),
                ("tail", models.BinaryField(max_length=32)),
            ],
        ),
        migrations.RunSQL([TRANSACTION, SERVER, SEAL], UNDO),
    ]
