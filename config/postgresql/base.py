"""The database engine: Django's own, but for how a connection is tested before it is lent.

Django's test is a round trip before each request. The socket knows as much: an idle connection says nothing unless it
ends, or is told something. A server that vanished without a word is noticed by neither.
"""

from __future__ import annotations

import select
from typing import Any

import psycopg
from django.db.backends.postgresql import base

Connection = psycopg.Connection[Any]


class DatabaseWrapper(base.DatabaseWrapper):
    """As Django's; takes CONN_HEALTH_CHECKS to be off, for the pool would test by a round trip again."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Connection:
        """A connection that lives, out of the pool when there is one. Raises what connecting raises."""
        connection: Connection = super().get_new_connection(conn_params)
        # After the server was restarted all of them are dead, and no more than that.
        for _ in range(self.pool.max_size if self.pool else 0):
            if lives(connection):
                break
            # The pool replaces one that comes back closed.
            connection.close()
            self.pool.putconn(connection)
            connection = super().get_new_connection(conn_params)
        return connection


def lives(connection: Connection) -> bool:
    """Whether the server is still at the other end of an idle connection, as far as the socket tells."""
    if connection.closed:
        return False
    # Not select(): with ten thousand runners parked, numbers of files go beyond what it can take.
    asked = select.poll()
    asked.register(connection.fileno(), select.POLLIN | select.POLLHUP | select.POLLERR)
    if not asked.poll(0):
        return True
    # The end, or a word that was not asked for, as when a parameter of the server is changed.
    try:
        connection.execute("")
    except psycopg.Error:
        return False
    return True
