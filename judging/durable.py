"""The one transaction of a verb, and what the outside hears when the database cannot serve it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import InterfaceError, OperationalError, connection, transaction

from judging.errors import StorageBusy, StorageUnavailable
from runners.prepared import Forgotten

_BUSY = {"55P03", "57014", "40P01", Forgotten.sqlstate}
"""lock_not_available, query_canceled (statement_timeout), deadlock_detected, or what was prepared is forgotten: try again,
nothing was changed."""


@contextmanager
def one_transaction() -> Iterator[None]:
    """A durable transaction: it nests in no other, so what it answered is what is stored.

    Raises StorageBusy when a lock or statement timeout ended it, StorageUnavailable when the database is gone.
    """
    with one_look(), transaction.atomic(durable=True):
        yield


@contextmanager
def one_statement() -> Iterator[None]:
    """One statement that is a durable transaction by itself: its COMMIT needs no round trip. It nests in no transaction.

    Raises StorageBusy, StorageUnavailable.
    """
    # As Django's own `durable` has it: a test case's wrapper is no transaction of ours.
    blocks: list[Any] = connection.atomic_blocks
    if blocks and not blocks[-1]._from_testcase:
        raise RuntimeError("a statement that is to be durable cannot run inside a transaction")
    with one_look():
        yield


@contextmanager
def one_look() -> Iterator[None]:
    """What a verb reads before or after its transactions, with the same answers when the database cannot serve it.

    A connection that broke is dropped, so that the process's next call opens another: commands and tickers have no
    request whose end would do it. Raises StorageBusy, StorageUnavailable.
    """
    try:
        yield
    except (OperationalError, InterfaceError) as error:
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()
        raise storage_refusal(error) from error


def let_go() -> None:
    """Give the connection back while bytes come or go: whoever is slow at that must not keep it from the others."""
    if not connection.in_atomic_block:
        connection.close()


def storage_refusal(error: Exception) -> StorageBusy | StorageUnavailable:
    """The refusal that says what a database error means to the caller."""
    if getattr(error.__cause__, "sqlstate", None) in _BUSY:
        return StorageBusy()
    return StorageUnavailable("The database does not answer; try again.")
