"""The runner protocol over REST, call by call (runner-protocol §2)."""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runners.agent.answers import Answer, NotEnrolled, Unreachable, read
from runners.agent.http import SILENCE_S, Cancelled, Http
from runners.agent.identity import Identity
from runners.agent.job import Claim, File, granted_s

CLAIM_MARGIN_S = 15
RELEASE_SILENCE_S = 5
MAX_DOWNLOAD_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class Profile:
    """What this runner says of itself when it registers."""

    name: str
    product: str
    version: str
    problem_types: tuple[str, ...]
    tags: tuple[str, ...]
    machine: Mapping[str, Any]


class Api:
    """A runner's calls. Shakes hands by itself, and again whenever a token is not good any more.

    `renew_every_s` is how often a held job is to be renewed at least; `runner_id` what the server calls this runner.
    """

    renew_every_s = math.inf

    def __init__(self, http: Http, identity: Identity) -> None:
        self._http = http
        self._identity = identity
        self.runner_id = ""
        self._token: str | None = None
        self._shaking = threading.Lock()

    def register(self, profile: Profile) -> str:
        """Register, signing when the server knows the key. Answers the state it is in. Raises Revoked, Refused, Unreachable."""
        body: dict[str, Any] = {
            "name": profile.name,
            "product": profile.product,
            "version": profile.version,
            "publicKey": self._identity.public_key,
            "problemTypes": list(profile.problem_types),
            "external": False,
            "tags": list(profile.tags),
            "machine": dict(profile.machine),
        }
        nonce = self._challenge()
        if nonce is not None:
            body |= {"nonce": nonce, "signature": self._identity.sign(nonce)}
        registered = read(self._http.post("runner/register", body=body, token=None))
        self.runner_id = str(registered.get("runnerId", ""))
        return str(registered.get("state", ""))

    def _challenge(self) -> str | None:
        """A nonce to sign; None when the server does not know this key."""
        answer = self._http.post("runner/auth/challenge", body={"fingerprint": self._identity.fingerprint}, token=None)
        if answer.status == 404:
            return None
        nonce = read(answer).get("nonce")
        if not isinstance(nonce, str) or not nonce.isascii():
            raise Unreachable("a challenge without a nonce")
        return nonce

    def shake_hands(self) -> None:
        """Get a token. Raises NotEnrolled, Revoked, Refused, Unreachable."""
        nonce = self._challenge()
        if nonce is None:
            raise NotEnrolled("the server does not know this runner's key")
        body = {"fingerprint": self._identity.fingerprint, "nonce": nonce, "signature": self._identity.sign(nonce)}
        token = read(self._http.post("runner/auth/token", body=body, token=None)).get("token")
        if not isinstance(token, str) or not token.isascii():
            raise Unreachable("a handshake without a token")
        self._token = token

    def _fresh_token(self, used: str | None) -> str:
        """A token other than the one that was not good. Threads that were refused together shake hands once."""
        with self._shaking:
            if self._token is None or self._token == used:
                self._token = None
                self.shake_hands()
            return str(self._token)

    def _authorized(self, send: Callable[[str], Answer]) -> Answer:
        """Send with a token; once more with a fresh one when it is not good any more."""
        token = self._token or self._fresh_token(None)
        answer = send(token)
        return send(self._fresh_token(token)) if answer.status == 401 else answer

    def _post(self, path: str, body: Mapping[str, Any] | None, *, silence_s: float = SILENCE_S, files: Any = None) -> Answer:
        return self._authorized(lambda token: self._http.post(path, body=body, token=token, silence_s=silence_s, files=files))

    def claim(self, *, lease_s: int, wait_s: int) -> Claim | None:
        """A job, or None when there was none for as long as the server cared to wait."""
        body = {"leaseSeconds": lease_s, "waitSeconds": wait_s}
        answer = self._post("runner/jobs/claim", body, silence_s=wait_s + CLAIM_MARGIN_S)
        document = read(answer)
        return Claim.read(document, granted_s=granted_s(lease_s, document, answer.date)) if answer.status != 204 else None

    def renew(self, claim: Claim, *, lease_s: int) -> float:
        """Push the deadline out. Answers for how many seconds it is now. Raises LeaseLost."""
        answer = self._post(f"runner/jobs/{claim.job_id}/lease", {"leaseToken": claim.lease_token, "leaseSeconds": lease_s})
        return granted_s(lease_s, read(answer, about_job=True), answer.date)

    def progress(self, claim: Claim) -> None:
        """Say that the job arrived. Renews nothing. Raises LeaseLost."""
        read(self._post(f"runner/jobs/{claim.job_id}/progress", {"leaseToken": claim.lease_token}), about_job=True)

    def release(self, claim: Claim) -> None:
        """Give the job back because this runner is stopping. Raises LeaseLost."""
        body = {"leaseToken": claim.lease_token}
        read(self._post(f"runner/jobs/{claim.job_id}/release", body, silence_s=RELEASE_SILENCE_S), about_job=True)

    def report(self, job_id: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Report a result or a failure. Raises LeaseLost."""
        taken = read(self._post(f"runner/jobs/{job_id}/report", body), about_job=True)
        if not isinstance(taken.get("state"), str):
            # Somebody else answered, and a result that nobody has is lost: it is sent again, which counts once.
            raise Unreachable("the answer to a report without the job's state")
        return taken

    def heartbeat(self) -> None:
        read(self._post("runner/heartbeat", None))

    def upload(self, name: str, data: bytes) -> str:
        """Store a file; answers its id."""
        body = {"sha256": hashlib.sha256(data).hexdigest()}
        document = read(self._post("runner/files", body, files={"file": (name, data, "application/octet-stream")}))
        if not isinstance(document.get("id"), str):
            raise Unreachable("an upload without an id")
        return str(document["id"])

    def attach(self, job_id: str, lease_token: str, *, file_id: str, name: str) -> None:
        """Attach an upload of ours to a job under a role. Raises LeaseLost."""
        body = {"leaseToken": lease_token, "fileId": file_id, "name": name}
        read(self._post(f"runner/jobs/{job_id}/files", body), about_job=True)

    def download(self, file: File, target: Path, *, cancelled: Cancelled = lambda: False) -> None:
        """Fetch a file and check it. Raises Interrupted once cancelled.

        Raises LeaseLost for a 404: files are shown only to the holder of their job.
        """
        path = f"runner/files/{file.file_id}"
        answer = self._authorized(
            lambda token: self._http.download(path, target, token=token, max_bytes=MAX_DOWNLOAD_BYTES, cancelled=cancelled)
        )
        if answer.status != 200:
            read(answer, about_job=True)
            raise Unreachable(f"unexpected status {answer.status}")
        if answer.sha256 != file.sha256.lower():
            raise Unreachable(f"the {file.role} is not what its checksum says")
