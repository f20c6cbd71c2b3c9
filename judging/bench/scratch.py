"""A database of the benchmark's own on the configured server, and gone afterwards, whatever happened in between."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.conf import settings
from django.core.management import call_command
from django.db import connection, connections
from psycopg import sql
from psycopg.conninfo import make_conninfo

Connection = psycopg.Connection[Any]


@contextmanager
def scratch_database(*, durable: bool, beside: str = "") -> Iterator[str]:
    """Make an empty Assize and let Django use it for as long as the block lasts; its address. `beside` names a second one.

    Without `durable` no commit waits for the disk, which is the machine's to answer for: it would make any statement
    that commits look as fast as any other.
    """
    name = f"assize_bench_{os.getpid()}{beside}"
    pool = None
    before = connection.settings_dict["NAME"]
    quoted = sql.Identifier(name)
    with psycopg.connect(settings.DATABASE_URL, autocommit=True) as server:
        server.execute(sql.SQL("CREATE DATABASE {}").format(quoted))
        try:
            if not durable:
                server.execute(sql.SQL("ALTER DATABASE {} SET synchronous_commit = off").format(quoted))
            use(name)
            # Each client of a measurement has its own connection: a pool's size would be measured instead.
            pool = connections.settings["default"]["OPTIONS"].pop("pool", None)
            call_command("migrate", verbosity=0, interactive=False)
            yield make_conninfo(settings.DATABASE_URL, dbname=name)
        finally:
            use(before)
            connections.settings["default"]["OPTIONS"]["pool"] = pool
            server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(quoted))


def use(name: str) -> None:
    """Point Django's default connection, in every thread, at this database."""
    connections.close_all()
    connection.close_pool()  # type: ignore[attr-defined] # the stubs know no pools
    connections.settings["default"]["NAME"] = name


@contextmanager
def direct(address: str) -> Iterator[Connection]:
    """A connection past Django, committing each statement, under no time limit."""
    with psycopg.connect(address, autocommit=True) as straight:
        straight.execute("SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0")
        yield straight


def vacuum(straight: Connection, *tables: str) -> None:
    """Clean up after a round, so that no round pays for the one before it."""
    for table in tables:
        straight.execute(sql.SQL("VACUUM ANALYZE {}").format(sql.Identifier(table)))
