"""Who waits for a lock: by this a test knows that another session has come as far as it is to come."""

import time

from django.db import connection

PATIENCE_SECONDS = 10
_WAITING = """
SELECT count(DISTINCT l.pid) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
WHERE NOT l.granted AND a.datname = current_database()
"""


def until_waiting(sessions: int) -> None:
    """Until so many sessions of this database wait for a lock; other test runs may share the server."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while _waiting() < sessions:
        assert time.monotonic() < deadline, f"fewer than {sessions} sessions wait for a lock"
        time.sleep(0.005)


def _waiting() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")  # within a transaction the view is read once
        cursor.execute(_WAITING)
        return cursor.fetchone()[0]
