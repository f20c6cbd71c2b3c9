"""Bringing a finished job to the server: attachments, then the report, until it is accepted or no longer wanted."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from runners.agent.answers import LeaseLost, Refused, Unreachable
from runners.agent.api import Api
from runners.agent.backoff import Backoff
from runners.agent.spool import Finished

log = logging.getLogger(__name__)


class Delivered(StrEnum):
    """What became of a result."""

    ACCEPTED = "accepted"
    """The server has it, now or since an earlier attempt."""

    DROPPED = "dropped"
    """The job is another's now, or the server will never take this: nothing is left to do."""

    KEPT = "kept"
    """Not brought over in the time there was; it is still worth trying."""


@dataclass(frozen=True, slots=True)
class Courier:
    """Sends results. `pause` waits and answers whether to go on: False once the time for this result is over."""

    api: Api
    pause: Callable[[float], bool]

    def deliver(self, finished: Finished) -> Delivered:
        """Raises NotEnrolled or Revoked when the key is not accepted any more."""
        for role, data in finished.attachments.items():
            if not self._attach(finished, role, data):
                break
        return self._report(finished)

    def _attach(self, finished: Finished, role: str, data: bytes) -> bool:
        """Upload and attach one file. A file is never worth a result: whatever the server says, the report follows.

        False when there is no sense in sending another.
        """

        def send() -> None:
            file_id = self.api.upload(role, data)
            self.api.attach(finished.job_id, finished.lease_token, file_id=file_id, name=role)

        try:
            return self._insisting(send)
        except LeaseLost:
            # Only the report's answer tells a lost lease from a result that had arrived already.
            return False
        except Refused as error:
            log.warning("job %s: %s not attached: %s", finished.job_id, role, error)
            return True

    def _report(self, finished: Finished) -> Delivered:
        body = {**finished.report, "leaseToken": finished.lease_token}
        try:
            return self._sent(finished, body)
        except LeaseLost as error:
            log.info("job %s: result dropped, %s", finished.job_id, error.code)
            return Delivered.DROPPED
        except Refused as error:
            log.error("job %s: report refused: %s", finished.job_id, error)
            body = {"leaseToken": finished.lease_token, "infrastructureFailure": True, "failureReason": f"report refused: {error}"}
        try:
            return self._sent(finished, body)
        except Refused:
            return Delivered.DROPPED

    def _sent(self, finished: Finished, body: dict[str, object]) -> Delivered:
        def send() -> None:
            self.api.report(finished.job_id, body)

        return Delivered.ACCEPTED if self._insisting(send) else Delivered.KEPT

    def _insisting(self, send: Callable[[], None]) -> bool:
        """Until it is done (True) or the time is over (False). Raises Refused."""
        backoff = Backoff()
        while True:
            try:
                send()
            except Unreachable as error:
                log.warning("not delivered yet: %s", error)
                if not self.pause(backoff.delay_s(error.retry_after_s)):
                    return False
            else:
                return True
