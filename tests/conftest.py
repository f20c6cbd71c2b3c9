"""What every test run needs: a PostgreSQL, Django set up on it, and the sentences of tests that cannot run here."""

import fcntl
import functools
import importlib.util
import os
import subprocess
from datetime import datetime, timedelta
from pathlib import Path

import django
import django.conf
import pytest
from django.db import OperationalError, connection, transaction
from django.test import TransactionTestCase
from psycopg.errors import DeadlockDetected

from config import embedded, launch

DATABASE_SLOTS = 32


def _take_database_slot() -> int:
    """The lowest number no other run on this machine's data folder has; its lock ends with this process.

    Runs side by side get databases of their own, and one that was killed leaves no name behind that is never used again.
    """
    folder = launch.data_folder() / "test-slots"
    folder.mkdir(parents=True, exist_ok=True)
    for slot in range(1, DATABASE_SLOTS + 1):
        lock = os.open(folder / str(slot), os.O_CREAT | os.O_RDWR)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            continue
        return slot
    raise pytest.UsageError(f"{DATABASE_SLOTS} test runs are under way in {folder}.")


def _set_up() -> None:
    """Settle the environment, then load the settings: nothing may have read them before."""
    if django.conf.settings.configured:
        raise pytest.UsageError("Django's settings were loaded too early. Unset DJANGO_SETTINGS_MODULE and leave out --ds.")
    os.environ |= {
        "ASSIZE_TESTING": "1",
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "ASSIZE_TEST_DATABASE": f"test_assize_{_take_database_slot()}",
    }
    if not os.environ.get("DATABASE_URL"):
        try:
            # Apart from the demo's: this one may lose what it has.
            embedded.export(launch.data_folder() / "postgres-test", durable=False)
        except embedded.Impossible as reason:
            raise pytest.UsageError(str(reason)) from reason
    django.setup()


_set_up()


@functools.cache
def _no_browser() -> str | None:
    if importlib.util.find_spec("playwright") is None:
        return "needs Playwright: pip install -r requirements.txt"
    if not Path(os.environ.get("ASSIZE_CHROMIUM", "/usr/bin/chromium")).exists():
        return "needs Chromium: apt-get install chromium, or set ASSIZE_CHROMIUM to its path"
    return None


@functools.cache
def _no_box() -> str | None:
    try:
        tried = subprocess.run(["bwrap", "--ro-bind", "/", "/", "--unshare-all", "true"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "needs bubblewrap: apt-get install bubblewrap"
    if tried.returncode != 0:
        return f"bubblewrap cannot make namespaces here: {tried.stderr.strip()}"
    return None


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what this machine lacks the programs for, saying what to install."""
    for marker, lack in (("browser", _no_browser), ("box", _no_box)):
        if item.get_closest_marker(marker) and (reason := lack()):
            pytest.skip(reason)


KEPT = {"django_migrations", "django_content_type", "auth_permission", "auth_group", "auth_group_permissions", "test_clock"}


def _empty_tables(self):
    """Empty the tables between tests, past the triggers that forbid it, as a superuser restoring would.

    Deleting from small tables is many times faster than truncating them, and what migrations filled is kept. A server
    that outlives its test may be at its last work, and lock in another order: the loser of a deadlock tries again.
    """
    tables = [name for name in connection.introspection.table_names() if name not in KEPT]
    for tries_left in reversed(range(5)):
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute("SET LOCAL session_replication_role = replica")
                cursor.execute(";".join(f'DELETE FROM "{name}"' for name in tables))
        except OperationalError as error:
            if not isinstance(error.__cause__, DeadlockDetected) or not tries_left:
                raise
        else:
            return


TransactionTestCase._fixture_teardown = _empty_tables  # type: ignore[attr-defined]


@pytest.fixture(scope="session")
def movable_clock(django_db_setup, django_db_blocker):
    """Put a clock that tests can move in the place of `judge_now()`, for the whole run (queue.md §3)."""
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute("CREATE TABLE IF NOT EXISTS test_clock (ahead interval NOT NULL)")
        cursor.execute("INSERT INTO test_clock SELECT '0' WHERE NOT EXISTS (SELECT FROM test_clock)")
        cursor.execute(
            "CREATE OR REPLACE FUNCTION judge_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS"
            " 'SELECT clock_timestamp() + (SELECT ahead FROM test_clock)'"
        )


@pytest.fixture
def clock(movable_clock, transactional_db):
    """The store's clock: `clock.forward(seconds=61)`. Back to the true time when the test ends."""
    moved = Clock()
    yield moved
    moved.reset()


class Clock:
    """Moves the database's clock for every connection; never sleeps, never rewrites a stored deadline."""

    def forward(self, **span: float) -> None:
        """Move the clock on by a timedelta's arguments."""
        with connection.cursor() as cursor:
            cursor.execute("UPDATE test_clock SET ahead = ahead + %s", [timedelta(**span)])  # type: ignore[list-item]

    def reset(self) -> None:
        """The true time again."""
        with connection.cursor() as cursor:
            cursor.execute("UPDATE test_clock SET ahead = '0'")

    def now(self) -> datetime:
        """What the database's clock says."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT judge_now()")
            return cursor.fetchone()[0]
