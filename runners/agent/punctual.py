"""Connections that keep to one deadline for each request, however its answer comes.

What httpx calls a timeout is how long one read may be silent. A server that sends its headers byte by byte, or one
provisional answer (100, 103) after the other, is never silent and never done.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpcore
import httpx


class Deadline(threading.local):
    """When the request of this thread must be over, by the monotonic clock. A request is made by one thread."""

    at = math.inf

    @contextlib.contextmanager
    def of(self, at: float) -> Iterator[None]:
        """Within, whatever this thread reads and writes is over by then."""
        self.at = at
        try:
            yield
        finally:
            self.at = math.inf

    def left(self, timeout: float | None) -> float:
        """How long the next step may take, in seconds; not positive when the request's time is over."""
        return min(math.inf if timeout is None else timeout, self.at - time.monotonic())


class PunctualStream(httpcore.NetworkStream):
    """A connection whose reads and writes end by the deadline."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: Deadline) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        left = self._deadline.left(timeout)
        if left <= 0:
            raise httpcore.ReadTimeout("an answer without end")
        return self._stream.read(max_bytes, _or_none(left))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        left = self._deadline.left(timeout)
        if left <= 0:
            raise httpcore.WriteTimeout("a question that nobody takes")
        self._stream.write(buffer, _or_none(left))

    def close(self) -> None:
        self._stream.close()

    def start_tls(self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None) -> PunctualStream:
        return PunctualStream(self._stream.start_tls(ssl_context, server_hostname, timeout), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class PunctualBackend(httpcore.NetworkBackend):
    """Opens connections that are punctual."""

    def __init__(self, backend: httpcore.NetworkBackend, deadline: Deadline) -> None:
        self._backend = backend
        self._deadline = deadline

    def connect_tcp(self, host: str, port: int, *given: Any, **how: Any) -> PunctualStream:
        return PunctualStream(self._backend.connect_tcp(host, port, *given, **how), self._deadline)

    def sleep(self, seconds: float) -> None:
        self._backend.sleep(seconds)


def make_punctual(client: httpx.Client) -> Deadline:
    """Have all of a client's connections keep to the deadline that is given back.

    httpx has no door for this but a transport of one's own, which would leave the machine's proxies aside; its version is pinned.
    """
    deadline = Deadline()
    for transport in (client._transport, *client._mounts.values()):
        if isinstance(transport, httpx.HTTPTransport):
            pool: Any = transport._pool
            pool._network_backend = PunctualBackend(pool._network_backend, deadline)
    return deadline


def _or_none(seconds: float) -> float | None:
    return None if math.isinf(seconds) else seconds
