"""A sync WSGI application, called from pool threads.

Written here rather than taken from a2wsgi because there a request that is cancelled, or whose answer cannot be sent,
leaves its thread waiting for ever, and every small answer crosses between thread and loop three times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from config.front.environ import Environ, Message

Wsgi = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]
Headers = list[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer, not yet sent."""

    status: int
    headers: Headers
    body: bytes

    def start(self, *extra: tuple[bytes, bytes]) -> Message:
        """The message that begins it, with `extra` headers."""
        return {"type": "http.response.start", "status": self.status, "headers": [*self.headers, *extra]}

    def rest(self) -> Message:
        """The message that ends it."""
        return {"type": "http.response.body", "body": self.body}


class Head:
    """What an application says before the body: pass it as WSGI's start_response."""

    status: int
    headers: Headers

    def __call__(self, status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Callable[[bytes], Any]:
        """Keep it. Django has no use for the old `write` this returns."""
        self.status = int(status[:3])
        self.headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        return _no_write

    def whole(self, response: Iterable[bytes]) -> Answer:
        """The answer with this body, its length declared."""
        if self.status in (204, 304):
            return Answer(self.status, self.headers, b"")
        body = b"".join(response)
        if not any(name == b"content-length" for name, _ in self.headers):
            self.headers.append((b"content-length", b"%d" % len(body)))
        return Answer(self.status, self.headers, body)

    def start(self) -> Message:
        """The message that begins an answer whose body follows in blocks."""
        return {"type": "http.response.start", "status": self.status, "headers": self.headers}


class Streamed(Exception):
    """The answer is no document but a stream, which is not to be held in memory: ask again with an Exchange."""


def call(app: Wsgi, environ: Environ) -> Answer:
    """The whole answer of the application; raises Streamed when it has none."""
    head = Head()
    response = app(environ, head)
    try:
        if is_stream(response):
            raise Streamed
        return head.whole(response)
    finally:
        close(response)


def is_stream(response: Iterable[bytes]) -> bool:
    """Whether the answer comes in blocks; Django says so, a wrapped file does not."""
    return bool(getattr(response, "streaming", True))


def close(response: Iterable[bytes]) -> None:
    """End the request for Django: it gives its database connection back."""
    getattr(response, "close", lambda: None)()


def _no_write(_: bytes) -> None:
    raise NotImplementedError("return the body, do not write it")
