"""The runner protocol over the channel: one WebSocket for jobs and signs of life, REST for the files (seed 001).

The same calls as `api.Api`, so that everything above them knows no transport. Each message has exactly one answer, so
one lock makes question and answer one step.
"""

from __future__ import annotations

import contextlib
import json
import logging
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI
from websockets.sync.client import ClientConnection, connect

from runners.agent import PRODUCT, VERSION
from runners.agent.answers import LeaseLost, Refused, Unreachable, retry_after_s
from runners.agent.api import Api, Profile
from runners.agent.http import CONNECT_S, Http
from runners.agent.identity import Identity
from runners.agent.job import Claim

log = logging.getLogger(__name__)
ANSWER_S = 15.0
HELD_S = 90.0
"""How long a run is worth reporting after the last sign of life was answered: the server's own patience."""
BEAT_S = 1.0
MAX_ANSWER_BYTES = 16 << 20
REPORTED = ("verdict", "score", "maxScore", "extra", "props")


class ChannelApi(Api):
    """One runner's calls. `key` is the file with the key an operator gave it; one connection, so one worker."""

    renew_every_s = BEAT_S

    def __init__(self, http: Http, identity: Identity, *, server: str, key: Path) -> None:
        super().__init__(http, identity)
        self._server = server.rstrip("/").replace("http", "ws", 1)
        self._key = key
        self._machine: Mapping[str, Any] = {}
        self._one = threading.Lock()
        self._open = contextlib.ExitStack()
        self._line: ClientConnection | None = None

    def register(self, profile: Profile) -> str:
        """As over REST: that is how files are fetched, and how this runner is named on the channel."""
        self._machine = profile.machine
        return super().register(profile)

    def claim(self, *, lease_s: int, wait_s: int) -> Claim | None:
        """A job, or None when there was none. Raises Refused when the key is not accepted, Unreachable."""
        machine = {"os": "linux", "arch": str(self._machine.get("arch", "")), "version": VERSION}
        answer = self._ask("ready", silence_s=wait_s + ANSWER_S, poll_timeout=max(wait_s, 1), runner=machine)
        match answer.get("event"):
            case "job":
                return Claim.read(_document(answer.get("claim")), granted_s=HELD_S)
            case "no_job":
                return None
            case "update":
                log.warning("the server offers release %s of the runner", answer.get("version"))
                return None
        # It thinks that a run goes on here: on a new connection there is none.
        self._hang_up()
        raise Unreachable(f"ready was answered by {answer.get('event')!r}")

    def renew(self, claim: Claim, *, lease_s: int) -> float:
        """A heartbeat. Raises LeaseLost when it is answered by a cancel, which is confirmed."""
        self._live("heartbeat", claim)
        return HELD_S

    def progress(self, claim: Claim) -> None:
        """The run itself begins. Raises LeaseLost."""
        self._live("running", claim)

    def _live(self, event: str, claim: Claim) -> None:
        if self._ask(event).get("event") != "cancel":
            return
        with contextlib.suppress(Unreachable):
            self._ask("canceled", job=claim.job_id)
        raise LeaseLost(409, "job.state", "the job was cancelled")

    def report(self, job_id: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """How the run ended. Acknowledged whatever became of the job, so it is never lost and never refused."""
        if body.get("infrastructureFailure"):
            self._ask("failed", job=job_id, results=[], error=str(body.get("failureReason", "")))
            return {}
        verdict = {name: body[name] for name in REPORTED if name in body}
        self._ask("completed", job=job_id, results=[{"exit_code": 0, "stdout": json.dumps(verdict)}])
        return {}

    def heartbeat(self) -> None:
        """The connection itself shows that this runner is there."""

    def _ask(self, event: str, *, silence_s: float = ANSWER_S, **members: Any) -> dict[str, Any]:
        """Say something and hear the answer. Raises Unreachable, Refused."""
        with self._one:
            line = self._line or self._connect()
            try:
                line.send(json.dumps({"event": event, **members}))
                return _document(json.loads(line.recv(silence_s)))
            except (ConnectionClosed, TimeoutError, OSError, ValueError) as error:
                # An answer that comes late would be taken for the next one's.
                self._hang_up()
                raise Unreachable(f"the channel: {type(error).__name__}: {error}"[:300]) from error

    def _connect(self) -> ClientConnection:
        """Open the line. Raises Refused when the key is not accepted, Unreachable."""
        headers = {"Authorization": f"Bearer {self._read_key()}", "User-Agent": f"{PRODUCT}/{VERSION}"}
        address = f"{self._server}/v0/runners/{self.runner_id}/channel"
        try:
            opened = connect(
                address,
                additional_headers=headers,
                user_agent_header=None,
                compression=None,
                open_timeout=CONNECT_S,
                close_timeout=1,
                ping_interval=None,
                max_size=MAX_ANSWER_BYTES,
            )
            self._line = self._open.enter_context(opened)
        except InvalidStatus as error:
            raise _refusal(error) from error
        except (InvalidHandshake, InvalidURI, OSError, TimeoutError) as error:
            raise Unreachable(f"the channel: {type(error).__name__}: {error}"[:300]) from error
        return self._line

    def _read_key(self) -> str:
        """Read at every connection: it may come later than the agent, and be replaced. Raises Refused."""
        try:
            return self._key.read_text("ascii").strip()
        except (OSError, ValueError) as error:
            raise Refused(401, "channel.key", f"no key yet: {error}") from error

    def _hang_up(self) -> None:
        self._line = None
        with contextlib.suppress(OSError):
            self._open.close()


def _refusal(error: InvalidStatus) -> Refused | Unreachable:
    status = error.response.status_code
    if status in (401, 403):
        return Refused(status, "channel.key", "the channel key is not accepted; ask an operator for a new one")
    return Unreachable(f"the channel: {status}", retry_after_s(error.response.headers.get("Retry-After")))


def _document(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Unreachable("an answer that is no object")
    return value
