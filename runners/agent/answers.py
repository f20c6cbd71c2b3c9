"""What the server can answer, sorted by what the agent does about it. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from runners.agent.errors import AgentError

LOST = frozenset({"runner.lease.stale", "runner.lease.foreign", "job.state"})
MAX_RETRY_AFTER_S = 3600


class Unreachable(AgentError):
    """No usable answer: a broken connection, 5xx, 429, or bytes that say nothing. Ask again later; never a verdict."""

    def __init__(self, reason: str, retry_after_s: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after_s = retry_after_s


class Refused(AgentError):
    """The server understood and said no."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(f"{status} {code}: {detail}")
        self.status = status
        self.code = code


class LeaseLost(Refused):
    """The job is no longer this runner's: drop it silently (seed 000)."""


class NotEnrolled(AgentError):
    """An operator has not approved this key, or has revoked or forgotten it: registering again tells which."""


class Revoked(AgentError):
    """This key will never be accepted again: stop."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A response that has been read whole."""

    status: int
    body: bytes
    retry_after: str | None = None
    date: str | None = None
    content_type: str = ""
    sha256: str = ""
    """Of a download's bytes, which are in its file and not in `body`."""


def read(answer: Answer, *, about_job: bool = False) -> dict[str, Any]:
    """The document of a success, `{}` for an empty one. Raises what the answer means otherwise.

    `about_job`: the path names a job this runner holds, so that 404 says it holds it no more.
    """
    if answer.status == 204:
        return {}
    if 200 <= answer.status < 300:
        return _document(answer)
    if answer.status >= 500 or answer.status == 429:
        raise Unreachable(f"{answer.status} {_problem(answer)[0]}", retry_after_s(answer.retry_after))
    if answer.status < 400:
        raise Unreachable(f"unexpected status {answer.status}")
    raise _refusal(answer, about_job=about_job)


def _refusal(answer: Answer, *, about_job: bool) -> AgentError:
    code, detail = _problem(answer)
    if answer.status == 401:
        return Unreachable(f"the token is not accepted: {detail}")
    if code == "runner.revoked":
        return Revoked(detail)
    if code == "runner.notApproved":
        return NotEnrolled(detail)
    if code in LOST or (about_job and answer.status == 404):
        return LeaseLost(answer.status, code, detail)
    if not code:
        # Not ours: a proxy, a captive portal, another program on the port.
        return Unreachable(f"{answer.status} without a code")
    return Refused(answer.status, code, detail)


def _document(answer: Answer) -> dict[str, Any]:
    try:
        document = json.loads(answer.body)
    except (ValueError, RecursionError) as error:
        raise Unreachable(f"an answer that is no JSON ({answer.content_type or 'untyped'})") from error
    if not isinstance(document, dict):
        raise Unreachable("an answer that is no object")
    return document


def _problem(answer: Answer) -> tuple[str, str]:
    """Code and sentence of a problem document; empty when it is none."""
    try:
        document = json.loads(answer.body)
    except (ValueError, RecursionError):
        return "", ""
    if not isinstance(document, dict):
        return "", ""
    return str(document.get("code") or ""), str(document.get("detail") or document.get("title") or "")[:500]


def retry_after_s(said: str | None) -> float | None:
    """Whole seconds; anything else says nothing. An absurd number is bounded."""
    return float(min(int(said), MAX_RETRY_AFTER_S)) if said and said.isascii() and said.isdigit() and len(said) < 10 else None
