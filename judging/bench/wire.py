"""The runners' side of HTTP with as little of its own as can be: what is measured is the server."""

from __future__ import annotations

import asyncio
from typing import NamedTuple


class Answer(NamedTuple):
    """A response's status and body."""

    status: int
    body: bytes


class Wire(asyncio.Protocol):
    """One connection that is kept, one request at a time."""

    def __init__(self, token: str) -> None:
        self._token = token
        self._transport: asyncio.Transport | None = None
        self._buffer = b""
        self._coming: asyncio.Future[Answer] | None = None

    @classmethod
    async def open(cls, port: int, token: str) -> Wire:
        """Connect to a server on the loopback; `token` goes with each request."""
        _, wire = await asyncio.get_running_loop().create_connection(lambda: cls(token), "127.0.0.1", port)
        return wire

    async def post(self, path: str, body: bytes = b"{}") -> Answer:
        """One call; raises ConnectionError when the server hangs up instead of answering."""
        assert self._transport is not None
        self._coming = asyncio.get_running_loop().create_future()
        head = f"POST {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {self._token}\r\nContent-Type: application/json\r\n"
        self._transport.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        return await self._coming

    def close(self) -> None:
        """Hang up."""
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """asyncio's: the line is open."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """asyncio's: the line is gone."""
        if self._coming is not None and not self._coming.done():
            self._coming.set_exception(ConnectionResetError("the server hung up"))

    def data_received(self, data: bytes) -> None:
        """asyncio's: more of an answer."""
        self._buffer += data
        head, ended, rest = self._buffer.partition(b"\r\n\r\n")
        length = _length(head) if ended else 0
        if ended and len(rest) >= length:
            self._buffer = b""
            if self._coming is not None and not self._coming.done():
                self._coming.set_result(Answer(int(head[9:12]), rest[:length]))


def _length(head: bytes) -> int:
    _, found, after = head.lower().partition(b"content-length:")
    return int(after.split(b"\r\n", 1)[0]) if found else 0
