"""Becoming and staying a runner the server knows: register, then wait for an operator's approval, for ever if need be."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from runners.agent.answers import NotEnrolled, Refused, Unreachable
from runners.agent.api import Api, Profile
from runners.agent.backoff import Backoff
from runners.agent.errors import Interrupted, Unavailable

log = logging.getLogger(__name__)
RETRIED = "runner.nonce."
"""A nonce that was spent or grew old between two calls is nobody's fault: ask for another."""


class Enrolment:
    """One enrolment at a time for all workers of the agent."""

    def __init__(self, api: Api, profile: Profile, *, fingerprint: str, sleep: Callable[[float], bool]) -> None:
        self._api = api
        self._profile = profile
        # In groups of four, as the operators' page shows it: the two are compared by eye.
        self._fingerprint = " ".join(fingerprint[place : place + 4] for place in range(0, len(fingerprint), 4))
        self._sleep = sleep
        self._one = threading.Lock()
        self._times = 0

    @property
    def times(self) -> int:
        """How often it has succeeded: say it to `ensure` so that two workers that were refused together enrol once."""
        return self._times

    def ensure(self, seen: int) -> None:
        """Register and shake hands, unless another has since `seen`.

        Raises Revoked, Unavailable when the server will never take this registration, Interrupted when the agent stops.
        """
        with self._one:
            if self._times == seen:
                self._until_done(self._register)
                self._until_done(self._approved)
                self._times += 1

    def _until_done(self, step: Callable[[], None]) -> None:
        backoff = Backoff()
        while True:
            try:
                step()
            except NotEnrolled as error:
                log.info("waiting for approval of key %s: %s", self._fingerprint, error)
                delay = backoff.delay_s()
            except Unreachable as error:
                log.warning("server not reached: %s", error)
                delay = backoff.delay_s(error.retry_after_s)
            else:
                return
            if not self._sleep(delay):
                raise Interrupted

    def _register(self) -> None:
        try:
            state = self._api.register(self._profile)
        except Refused as error:
            if error.code.startswith(RETRIED):
                raise Unreachable(str(error)) from error
            raise Unavailable(f"the server refuses to register this runner: {error}", "check --name and --tags") from error
        log.info("registered as %s, key %s, %s", self._profile.name, self._fingerprint, state)

    def _approved(self) -> None:
        try:
            self._api.shake_hands()
        except Refused as error:
            raise Unreachable(str(error)) from error
