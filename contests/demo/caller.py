"""The people of the play, each with a session of the API, as any client would have it."""

from __future__ import annotations

import json
from types import TracebackType
from typing import Any

import httpx

from contests.demo.solutions import Solution

SECONDS = 30.0


class Unexpected(Exception):
    """The server answered what it should not have."""


class Caller:
    """One account's session with the server at `base`."""

    def __init__(self, base: str, *, name: str, password: str) -> None:
        """Log in. Raises Unexpected."""
        self._http = httpx.Client(base_url=f"{base}/api/v1/", timeout=SECONDS, trust_env=False)
        self._ask("POST", "identity/login?useSessionCookies=true", json={"email": name, "password": password})

    def __enter__(self) -> Caller:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._http.close()

    def enrol(self, activity: str) -> None:
        """Take part."""
        self._ask("POST", f"activities/{activity}/enrolment")

    def send(self, activity: str, solution: Solution) -> dict[str, Any]:
        """Send a program in; its receipt."""
        props = json.dumps({"type": "standard-io@1", "language": solution.language})
        place = f"activities/{activity}/problems/{solution.problem}/submissions"
        receipt: dict[str, Any] = self._ask("POST", place, data={"props": props}, files={"file": (solution.file, solution.source)})
        return receipt

    def submissions(self, activity: str) -> dict[str, dict[str, Any]]:
        """The newest ones by id; for an operator everybody's, with their history."""
        page = self._ask("GET", f"activities/{activity}/submissions")
        return {row["id"]: row for row in page["submissions"]}

    def runners(self) -> dict[str, dict[str, Any]]:
        """All registered machines by fingerprint, for an operator."""
        return {row["fingerprint"]: row for row in self._ask("GET", "runners")["runners"]}

    def approve(self, runner: str) -> None:
        """Let a machine judge."""
        self._ask("POST", f"runners/{runner}/approve")

    def _ask(self, method: str, path: str, **more: Any) -> Any:
        try:
            answer = self._http.request(method, path, **more)
        except httpx.HTTPError as error:
            raise Unexpected(f"{method} {path}: {error}") from error
        if not answer.is_success:
            raise Unexpected(f"{method} {path}: {answer.status_code} {answer.text[:500]}")
        return answer.json()
