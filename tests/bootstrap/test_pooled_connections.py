"""How the database is reached: nobody is lent a connection that died, and none has another level of isolation than ours."""

import os
from collections.abc import Iterator

import pytest
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper

from config.postgresql import base
from config.postgresql.base import lives
from tests.kill.killing import terminate

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def pooled() -> Iterator[BaseDatabaseWrapper]:
    """The test's database through a pool of its own, whose connections are all open."""
    settings = connection.settings_dict
    alias = f"pooled-{os.getpid()}"
    wrapper = base.DatabaseWrapper(
        settings | {"OPTIONS": settings["OPTIONS"] | {"pool": {"min_size": 3, "max_size": 3, "timeout": 10}}}, alias
    )
    wrapper.pool.open(wait=True, timeout=10)
    yield wrapper
    wrapper.close()
    wrapper.close_pool()


def sessions(pooled) -> list[int]:
    """The server processes behind all of the pool's idle connections."""
    lent = [pooled.pool.getconn() for _ in range(3)]
    numbers = [one.info.backend_pid for one in lent]
    for one in lent:
        pooled.pool.putconn(one)
    return numbers


def asked(pooled) -> int:
    """One request's question: the number of its server process."""
    try:
        with pooled.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            return cursor.fetchone()[0]
    finally:
        pooled.close()


def test_a_connection_that_lives_is_lent_again(pooled):
    assert asked(pooled) in sessions(pooled)


def test_after_the_server_ended_every_session_the_first_request_is_served(pooled):
    gone = sessions(pooled)
    for pid in gone:
        terminate(pid, by=connection)

    assert asked(pooled) not in gone


def test_a_word_that_was_not_asked_for_is_no_end(pooled):
    """As when a parameter of the server is reloaded: the socket has something to read, and the session goes on."""
    with pooled.cursor() as cursor:
        cursor.execute("LISTEN gossip")
        cursor.execute("SELECT pg_backend_pid()")
        pid = cursor.fetchone()[0]
    raw = pooled.connection
    with connection.cursor() as cursor:
        cursor.execute("NOTIFY gossip")
    raw.execute("SELECT 1")  # by then the word has come
    with connection.cursor() as cursor:
        cursor.execute("NOTIFY gossip")

    assert lives(raw)
    assert raw.execute("SELECT pg_backend_pid()").fetchone()[0] == pid


def test_a_connection_given_back_within_a_transaction_is_lent_without_it(pooled):
    pooled.ensure_connection()
    pooled.set_autocommit(False)
    with pooled.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        pid = cursor.fetchone()[0]
    pooled.close()

    assert pid in sessions(pooled)
    for _ in range(6):
        with pooled.cursor() as cursor:
            cursor.execute("SELECT 1")
            assert pooled.get_autocommit()
        pooled.close()


def test_a_database_with_another_default_isolation_is_read_as_ours(transactional_db):
    """Under repeatable read whoever waited for a thread's lock would be refused, for what it is to read is newer."""
    name = connection.ops.quote_name(connection.settings_dict["NAME"])
    other = connection.copy()
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER DATABASE {name} SET default_transaction_isolation TO 'repeatable read'")
    try:
        with other.cursor() as cursor:
            cursor.execute("SHOW transaction_isolation")
            assert cursor.fetchone()[0] == "read committed"
    finally:
        other.close()
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER DATABASE {name} RESET default_transaction_isolation")
