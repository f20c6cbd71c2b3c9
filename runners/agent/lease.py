"""Keeping a lease while a job is judged (seed 000: a timer at a quarter of the lease, and no deadline arithmetic)."""

from __future__ import annotations

import logging
import threading
import time

from runners.agent.answers import LeaseLost, NotEnrolled, Revoked
from runners.agent.api import Api
from runners.agent.backoff import Backoff
from runners.agent.errors import AgentError
from runners.agent.job import Claim

log = logging.getLogger(__name__)
RENEWALS_PER_LEASE = 4
SHORTEST_S = 0.2
"""Between two renewals, however short the lease is that a server grants."""


class Keeper:
    """Renews one job's lease on a thread of its own until told to stop, or until the lease is lost."""

    def __init__(self, api: Api, claim: Claim, *, lease_s: int) -> None:
        self._api = api
        self._claim = claim
        self._lease_s = lease_s
        self._granted_s = claim.granted_s
        self._until = time.monotonic() + claim.granted_s
        self._done = threading.Event()
        self._lost = threading.Event()
        self._thread = threading.Thread(target=self._keep, name=f"lease-{claim.job_id}", daemon=True)

    def __enter__(self) -> Keeper:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._done.set()

    def lost(self) -> bool:
        """The server said that the job is no longer ours."""
        return self._lost.is_set()

    def held(self) -> bool:
        """By the monotonic clock the last lease granted is not over: it is still worth trying to report."""
        return not self.lost() and time.monotonic() < self._until

    def lose(self) -> None:
        """Another call learned that the lease is lost."""
        self._lost.set()

    def _keep(self) -> None:
        backoff = Backoff()
        pause_s = self._pause_s()
        while not self._done.wait(pause_s):
            asked_at = time.monotonic()
            try:
                self._granted_s = self._api.renew(self._claim, lease_s=self._lease_s)
            except (LeaseLost, NotEnrolled, Revoked) as error:
                log.info("lease of job %s lost: %s", self._claim.job_id, error)
                self._lost.set()
                return
            except AgentError as error:
                # The next try is the only thing that can mend it; the server decides when it is too late.
                log.warning("lease of job %s not renewed: %s", self._claim.job_id, error)
                pause_s = min(backoff.delay_s(), self._pause_s())
                continue
            backoff.reset()
            self._until = asked_at + self._granted_s
            pause_s = self._pause_s()

    def _pause_s(self) -> float:
        """Until the next renewal: a quarter of the lease, or what the transport asks for."""
        return max(min(self._granted_s / RENEWALS_PER_LEASE, self._api.renew_every_s), SHORTEST_S)
