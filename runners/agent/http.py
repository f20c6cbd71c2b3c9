"""One request, one answer, read whole and bounded. Knows nothing of runners."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from runners.agent import PRODUCT, VERSION
from runners.agent.answers import Answer, Unreachable

SILENCE_S = 60.0
CONNECT_S = 10.0
MAX_ANSWER_BYTES = 16 << 20


class Http:
    """A pool of connections to one server, safe for several threads."""

    def __init__(self, server: str) -> None:
        self._client = httpx.Client(
            base_url=f"{server.rstrip('/')}/api/v1/",
            headers={"User-Agent": f"{PRODUCT}/{VERSION}", "Accept-Encoding": "identity"},
            follow_redirects=False,
            # Reading the certificates of the world takes longer than a start has to, and plain HTTP has no use for them.
            verify=server.startswith("https:"),
        )

    def close(self) -> None:
        self._client.close()

    def post(
        self, path: str, *, body: Mapping[str, Any] | None, token: str | None, silence_s: float = SILENCE_S, files: Any = None
    ) -> Answer:
        """POST JSON, nothing, or with `files` a multipart form whose text fields are `body`. Raises Unreachable."""
        sent: dict[str, Any] = {"data": body, "files": files} if files else {"json": body} if body is not None else {}
        return self._answer("POST", path, token, silence_s, **sent)

    def _answer(self, method: str, path: str, token: str | None, silence_s: float, **sent: Any) -> Answer:
        try:
            with self._client.stream(
                method, path, headers=_bearer(token), timeout=httpx.Timeout(silence_s, connect=CONNECT_S), **sent
            ) as response:
                return _whole(response)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise Unreachable(f"{type(error).__name__}: {error}"[:300]) from error

    def download(self, path: str, target: Path, *, token: str | None, max_bytes: int) -> Answer:
        """GET into a file. Raises Unreachable."""
        try:
            with self._client.stream("GET", path, headers=_bearer(token), timeout=httpx.Timeout(SILENCE_S, connect=CONNECT_S)) as response:
                return _into(target, response, max_bytes) if response.status_code == 200 else _whole(response)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise Unreachable(f"{type(error).__name__}: {error}"[:300]) from error


def _into(target: Path, response: httpx.Response, max_bytes: int) -> Answer:
    digest, written = hashlib.sha256(), 0
    with target.open("wb") as file:
        for piece in response.iter_raw(1 << 18):
            written += len(piece)
            if written > max_bytes:
                raise Unreachable(f"a file of more than {max_bytes} bytes")
            digest.update(piece)
            file.write(piece)
    return Answer(200, b"", sha256=digest.hexdigest())


def _bearer(token: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"} if token else {}


def _whole(response: httpx.Response) -> Answer:
    body = bytearray()
    for piece in response.iter_bytes(1 << 16):
        body += piece
        if len(body) > MAX_ANSWER_BYTES:
            raise Unreachable("an answer without end")
    headers = response.headers
    return Answer(response.status_code, bytes(body), headers.get("retry-after"), headers.get("date"), headers.get("content-type", ""))
