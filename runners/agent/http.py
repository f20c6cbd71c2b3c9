"""One request, one answer, read whole and bounded. Knows nothing of runners."""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx

from runners.agent import PRODUCT, VERSION
from runners.agent.answers import Answer, Unreachable
from runners.agent.errors import Interrupted
from runners.agent.punctual import make_punctual

Cancelled = Callable[[], bool]
SILENCE_S = 60.0
CONNECT_S = 10.0
MAX_ANSWER_BYTES = 16 << 20
DRIP_S = 60.0
"""How much longer than its silence an answer may take to come, byte by byte, its headers included."""

DOWNLOAD_S = 1800.0


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
        self._deadline = make_punctual(self._client)

    def close(self) -> None:
        self._client.close()

    def post(
        self, path: str, *, body: Mapping[str, Any] | None, token: str | None, silence_s: float = SILENCE_S, files: Any = None
    ) -> Answer:
        """POST JSON, nothing, or with `files` a multipart form whose text fields are `body`. Raises Unreachable."""
        sent: dict[str, Any] = {"data": body, "files": files} if files else {"json": body} if body is not None else {}
        return self._answer("POST", path, token, silence_s, **sent)

    def _answer(self, method: str, path: str, token: str | None, silence_s: float, **sent: Any) -> Answer:
        until = time.monotonic() + silence_s + DRIP_S
        with (
            _reached(),
            self._deadline.of(until),
            self._client.stream(method, path, headers=_bearer(token), timeout=_patience(silence_s), **sent) as response,
        ):
            return _whole(response, until)

    def download(self, path: str, target: Path, *, token: str | None, max_bytes: int, cancelled: Cancelled) -> Answer:
        """GET into a file. Raises Unreachable, Interrupted once cancelled, OSError for a disk that takes no more."""
        until = time.monotonic() + DOWNLOAD_S
        with (
            _reached(),
            self._deadline.of(until),
            self._client.stream("GET", path, headers=_bearer(token), timeout=_patience(SILENCE_S)) as response,
        ):
            if response.status_code != 200:
                return _whole(response, until)
            return _into(target, _pieces(response, until, cancelled), max_bytes)


@contextlib.contextmanager
def _reached() -> Iterator[None]:
    """Whatever a request raises that no answer came of: a text that cannot be sent, which a server has made up, too."""
    try:
        yield
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise Unreachable(f"{type(error).__name__}: {error}"[:300]) from error


def _patience(silence_s: float) -> httpx.Timeout:
    return httpx.Timeout(silence_s, connect=CONNECT_S)


def _pieces(response: httpx.Response, until: float, cancelled: Cancelled) -> Iterator[bytes]:
    for piece in response.iter_raw():
        if cancelled():
            raise Interrupted
        if time.monotonic() > until:
            raise Unreachable("a file that does not come to its end")
        yield piece


def _into(target: Path, pieces: Iterator[bytes], max_bytes: int) -> Answer:
    digest, written = hashlib.sha256(), 0
    with target.open("wb") as file:
        for piece in pieces:
            written += len(piece)
            if written > max_bytes:
                raise Unreachable(f"a file of more than {max_bytes} bytes")
            digest.update(piece)
            file.write(piece)
    return Answer(200, b"", sha256=digest.hexdigest())


def _bearer(token: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"} if token else {}


def _whole(response: httpx.Response, until: float) -> Answer:
    body = bytearray()
    for piece in response.iter_bytes():
        body += piece
        if len(body) > MAX_ANSWER_BYTES or time.monotonic() > until:
            raise Unreachable("an answer without end")
    headers = response.headers
    return Answer(response.status_code, bytes(body), headers.get("retry-after"), headers.get("date"), headers.get("content-type", ""))
