"""Announcing on commit, whatever kind of process the transaction ran in."""

from __future__ import annotations

import logging
from functools import partial
from typing import ClassVar, Protocol

from django.db import Error, connection, transaction

from judging.wake.topics import NOTIFY, Event, payloads

logger = logging.getLogger(__name__)


class Room(Protocol):
    """A waiting room, as an announcement needs it."""

    def tell(self, events: tuple[Event, ...]) -> bool:
        """Wake whom these concern, here and in other processes. From any thread; False when it is too late."""


class Here:
    """This process: its waiting room, when it is a server."""

    room: ClassVar[Room | None] = None


def attach(room: Room | None) -> None:
    """Say which waiting room this process has; None when its server stops."""
    Here.room = room


def announce(*events: Event) -> None:
    """Say that work may be claimable, that a submission is judged, or that anything may have changed.

    Acts when the transaction commits, at once outside one, and never when it is rolled back. Waiters of this process
    are woken directly, those of others by NOTIFY. Being told is an optimisation (seed 000): what fails here is
    logged, never raised.
    """
    if events:
        transaction.on_commit(partial(_tell, events), robust=True)


def _tell(events: tuple[Event, ...]) -> None:
    if Here.room is None or not Here.room.tell(events):
        _notify(events)


def _notify(events: tuple[Event, ...]) -> None:
    """From a process without a listener, such as a command: on the connection that has just committed."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(NOTIFY, [payloads(set(events), origin="")])
    except Error as error:
        # It may have died under us, and the next call of a command or a ticker must not find it so.
        connection.close_if_unusable_or_obsolete()
        logger.warning("could not announce %d events: %s", len(events), error)
