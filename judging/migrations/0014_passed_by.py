"""A pick that says when work was there but in other hands, so that whoever waits looks again soon."""

from importlib import import_module

from django.db import migrations

lazily = import_module("judging.migrations.0009_pick_lazily")


def _replaced(sql: str, old: str, new: str) -> str:
    assert sql.count(old) == 1
    return sql.replace(old, new)


# One more answer:
#   passed       no work could be taken, but some was passed by because somebody held its thread at that moment
# Whoever holds it may leave it as claimable as it was (a late report is refused, a class is changed, a process dies),
# and then nothing is announced: without this answer a runner that waits would miss it until its fallback look.
PICK = _replaced(lazily.PICK, "    candidate record;\n", "    candidate record;\n    passed boolean := false;\n")
PICK = _replaced(
    PICK,
    """            FOR NO KEY UPDATE SKIP LOCKED;
        EXIT WHEN picked IS NOT NULL;
""",
    """            FOR NO KEY UPDATE SKIP LOCKED;
        EXIT WHEN picked IS NOT NULL;
        passed := true;
""",
)
PICK = _replaced(
    PICK,
    """FOR NO KEY UPDATE OF t SKIP LOCKED;
            EXIT WHEN picked IS NOT NULL;
""",
    """FOR NO KEY UPDATE OF t SKIP LOCKED;
            EXIT WHEN picked IS NOT NULL;
            passed := true;
""",
)
PICK = _replaced(
    PICK,
    "CASE WHEN picked IS NULL THEN 'nothing' ELSE 'expired' END",
    "CASE WHEN picked IS NOT NULL THEN 'expired' WHEN passed THEN 'passed' ELSE 'nothing' END",
)


class Migration(migrations.Migration):
    """The function."""

    dependencies = [("judging", "0013_rejudging")]

    operations = [migrations.RunSQL(PICK, lazily.PICK)]
