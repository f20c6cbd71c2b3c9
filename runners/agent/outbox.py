"""Results on their way: spooled first, sent, and sent again when an earlier attempt did not bring them over."""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path

from runners.agent.api import Api
from runners.agent.deliver import Courier, Delivered
from runners.agent.spool import Finished, Spool

log = logging.getLogger(__name__)
AGAIN_AFTER_S = 30.0


class Outbox:
    """The spool, and which of its results some worker is sending right now."""

    def __init__(self, spool: Spool, api: Api) -> None:
        self._spool = spool
        self._api = api
        self._lock = threading.Lock()
        self._under_way: set[Path] = set()
        self._next_at = 0.0

    def put(self, finished: Finished) -> Path | None:
        """Store a result that the caller is about to send; None where the disk takes nothing: it is worth sending all the same."""
        with self._lock:
            try:
                place = self._spool.put(finished)
            except OSError as error:
                log.error("the result of job %s cannot be kept on disk while it is sent: %s", finished.job_id, error)
                return None
            self._under_way.add(place)
            return place

    def send(self, place: Path | None, finished: Finished, courier: Courier) -> Delivered:
        """Send a result, and forget it unless it is still worth sending. Raises NotEnrolled, Revoked: then it is kept."""
        try:
            delivered = courier.deliver(finished)
            if place is not None and delivered is not Delivered.KEPT:
                self._spool.remove(place)
            return delivered
        finally:
            if place is not None:
                with self._lock:
                    self._under_way.discard(place)

    def resend(self) -> None:
        """Try once each what waits, at the first call and then from time to time."""
        for place in self._due():
            finished = self._spool.get(place)
            if finished is None:
                self._spool.set_aside(place)
                continue
            end = self.send(place, finished, Courier(self._api, pause=lambda _: False))
            log.info("job=%s result of an earlier attempt: %s", finished.job_id, end)

    def _due(self) -> list[Path]:
        with self._lock:
            now = time.monotonic()
            if now < self._next_at:
                return []
            self._next_at = now + AGAIN_AFTER_S
            due = [place for place in self._spool.waiting() if place not in self._under_way]
            self._under_way |= set(due)
            return due
