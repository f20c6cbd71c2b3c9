"""An ASGI request as a WSGI environ, and its body as a file a pool thread can read."""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import unquote_to_bytes

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Environ = dict[str, Any]

# A caller that neither sends nor takes a byte for this long is treated as gone, so that it cannot keep a thread.
SILENCE_SECONDS = 60.0


class CallerGone(ConnectionResetError):
    """The caller hung up, or fell silent, in the middle of a request."""


def environ_of(scope: Scope, body: io.IOBase, *, length: int) -> Environ:
    """The WSGI environ of a request; `length` is what its body is said to have where the caller does not say.

    The scope itself is `asgi.scope`: that is how a view reaches the front's `Look`.
    """
    environ: Environ = {
        "asgi.scope": scope,
        "REQUEST_METHOD": scope["method"],
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope.get("scheme", "http"),
        "wsgi.input": body,
        "wsgi.errors": sys.stderr,
        "wsgi.file_wrapper": Blocks,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
        **_names(scope),
        **_addresses(scope),
        **_headers(scope),
    }
    environ.setdefault("CONTENT_LENGTH", str(length))
    return environ


def _names(scope: Scope) -> Environ:
    root = scope.get("root_path", "")
    # The raw path, because the decoded one has already lost the bytes that are no UTF-8.
    path = unquote_to_bytes(scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
    return {"SCRIPT_NAME": root, "PATH_INFO": path.removeprefix(root) if root else path}


def _addresses(scope: Scope) -> Environ:
    host, port = scope.get("server") or ("localhost", 80)
    names = {"SERVER_NAME": host, "SERVER_PORT": str(port or 0)}
    if client := scope.get("client"):
        names |= {"REMOTE_ADDR": client[0], "REMOTE_PORT": str(client[1])}
    return names


def _headers(scope: Scope) -> Environ:
    headers: Environ = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
        # X_Forwarded_For must not pass for X-Forwarded-For.
        if "_" in name:
            continue
        key = name.upper().replace("-", "_")
        if key not in ("CONTENT_LENGTH", "CONTENT_TYPE"):
            key = f"HTTP_{key}"
        joint = "; " if key == "HTTP_COOKIE" else ","
        headers[key] = f"{headers[key]}{joint}{value}" if key in headers else value
    return headers


def declared_length(scope: Scope) -> int | None:
    """The body's length in bytes; None when it comes in chunks, 0 when there is none."""
    headers = dict(scope["headers"])
    if b"transfer-encoding" in headers:
        return None
    length = headers.get(b"content-length", b"0")
    return int(length) if length.isdigit() else 0


class Blocks:
    """A file as an iterable of 64 KiB blocks: each crosses from the thread to the loop, so Django's 4 KiB are few."""

    def __init__(self, file: Any, block_size: int = 0) -> None:
        self.file = file
        self.close = getattr(file, "close", lambda: None)

    def __iter__(self) -> Any:
        return iter(lambda: self.file.read(2**16), b"")


class Incoming(io.RawIOBase):
    """The body of a request as it arrives, read by a pool thread: never more than a chunk of it in memory."""

    def __init__(self, receive: Receive, loop: asyncio.AbstractEventLoop, *, begun: bytes, ended: bool) -> None:
        """`begun` has been received already; `ended` says that it was all."""
        self._receive = receive
        self._loop = loop
        self._chunk = memoryview(begun)
        self.ended = ended

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """The next bytes, at the end none. Waits for the caller; CallerGone when it hangs up before the end."""
        while not self._chunk and not self.ended:
            self._chunk = memoryview(self._next())
        count = min(len(buffer), len(self._chunk))
        buffer[:count] = self._chunk[:count]
        self._chunk = self._chunk[count:]
        return count

    def _next(self) -> bytes:
        coming = asyncio.run_coroutine_threadsafe(_received(self._receive), self._loop)
        try:
            message = coming.result(SILENCE_SECONDS)
        except TimeoutError:
            coming.cancel()
            raise CallerGone from None
        if message["type"] == "http.disconnect":
            raise CallerGone
        self.ended = not message.get("more_body", False)
        body: bytes = message.get("body", b"")
        return body


async def _received(receive: Receive) -> Message:
    return await receive()
