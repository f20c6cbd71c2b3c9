"""End the server's side of a session at a chosen moment of a verb, as a failing database does.

Moments: before each statement, before each COMMIT, and after a COMMIT, or a statement that is a transaction by itself,
whose answer never comes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.db import OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper

BY_THEMSELVES = ("SELECT * FROM judge_claim", "SELECT * FROM judge_report")
"""These are a whole transaction each: their COMMIT is no call of its own."""


@dataclass
class Session:
    """What one session does, told as moments; at number `fatal` it dies, once."""

    other: BaseDatabaseWrapper
    fatal: int | None = None
    moments: list[str] = field(default_factory=list)
    committed: Callable[[], None] = lambda: None

    def arrives(self, moment: str) -> bool:
        """Count a moment; whether the session dies at it."""
        self.moments.append(moment)
        if len(self.moments) - 1 != self.fatal:
            return False
        terminate(connection.connection.info.backend_pid, by=self.other)
        return True

    def statement(self, execute: Any, sql: str, *rest: Any) -> Any:
        """Django's wrapper around each statement."""
        words = " ".join(sql.split())[:60]
        self.arrives(words)
        answer = execute(sql, *rest)
        if not connection.in_atomic_block and words.startswith(BY_THEMSELVES):
            self.committed()
            if self.arrives(f"the answer of {words}"):
                raise OperationalError("the connection was lost before the answer came")
        return answer


def terminate(pid: int, *, by: BaseDatabaseWrapper) -> None:
    """End a server process and wait until it is gone."""
    deadline = time.monotonic() + 10
    with by.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [pid])
        while time.monotonic() < deadline:
            cursor.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", [pid])
            if cursor.fetchone() is None:
                return
            time.sleep(0.001)
    raise AssertionError(f"server process {pid} does not end")


@contextmanager
def watched(session: Session) -> Iterator[Session]:
    """Every statement and COMMIT of this thread's connection passes by the session."""
    this: Any = connection
    commit = this._commit

    def commit_watched() -> None:
        session.arrives("COMMIT")
        commit()
        session.committed()
        if session.arrives("the answer of COMMIT"):
            raise OperationalError("the connection was lost before the answer came")

    this._commit = commit_watched
    try:
        with connection.execute_wrapper(session.statement):
            yield session
    finally:
        del this._commit
