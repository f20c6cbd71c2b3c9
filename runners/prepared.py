"""Statements that a connection parses once, and again after a rollback: the few that every call of a runner asks.

Django's cursors write the values into the text, so that the database reads and plans each anew: a seventh of the time of a
claim. psycopg forgets all of them when a transaction is rolled back. Only statements of few different texts belong here,
whose values of one place are of one type; None, or a longer integer, makes another statement.
"""

from __future__ import annotations

from typing import Any

import psycopg
from django.db import connection
from django.db.backends.utils import CursorWrapper
from psycopg import errors
from psycopg.abc import Params, QueryNoTemplate
from psycopg.pq import TransactionStatus


class Forgotten(psycopg.OperationalError):
    """A transaction met a statement that its server forgot, or whose plan a migration outdated: it can be tried again."""

    sqlstate = "AZ004"


class _Prepared(psycopg.Cursor[Any]):
    """Sends values beside the text, under a name that the connection's server keeps.

    Where OPTIONS has no `prepare_threshold`, as behind a pooler that lends another server each time, under no name.
    """

    def execute(  # type: ignore[override] # psycopg's templates are for Python 3.14
        self,
        query: QueryNoTemplate,
        params: Params | None = None,
        *,
        prepare: bool | None = True,
        binary: bool | None = None,
    ) -> _Prepared:
        """As psycopg's, prepared at the first time; once more, when what was prepared is forgotten or outdated by now.

        A pooler's reset forgets it, and a migration may replace a function by one of another type: then nothing was done,
        and the connection would fail at each call until it ended. Raises Forgotten within a transaction, whose rollback clears it.
        """
        try:
            return super().execute(query, params, prepare=prepare, binary=binary)
        except (errors.InvalidSqlStatementName, errors.FeatureNotSupported) as error:
            if self.connection.info.transaction_status is not TransactionStatus.IDLE:
                raise Forgotten(str(error)) from error
            self.connection.execute("DEALLOCATE ALL")
            return super().execute(query, params, prepare=prepare, binary=binary)


def prepared_cursor() -> CursorWrapper:
    """A cursor of the default connection whose statements are prepared; an ordinary one where statements are listed.

    Django's list of them wants the values in the text. Raises what connection.cursor() raises.
    """
    if connection.queries_logged:
        return connection.cursor()
    connection.validate_thread_sharing()
    connection.ensure_connection()
    with connection.wrap_database_errors:
        cursor = _Prepared(connection.connection)
    return connection.make_cursor(cursor)  # type: ignore[arg-type] # the stubs take what it returns for what it wraps
