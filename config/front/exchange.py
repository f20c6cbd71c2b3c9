"""One ordinary request: served by a pool thread, its bytes passing both ways as they come.

A small answer crosses from the thread to the loop once, whole. A streamed one crosses block by block, each waiting
until the server has taken the one before. A caller that goes away ends both.
"""

from __future__ import annotations

import asyncio
import contextvars
import io
from collections.abc import Coroutine, Iterable
from concurrent.futures import Executor
from typing import Any, NamedTuple

from config.front.bridge import Answer, Head, Wsgi, close, is_stream
from config.front.environ import (
    SILENCE_SECONDS,
    CallerGone,
    Incoming,
    Message,
    Receive,
    Scope,
    Send,
    declared_length,
    environ_of,
)

# A body is gathered up to here before a thread is taken: one that trickles in would keep it, and there are few ...
GATHERED_BYTES = 2**20

# ... and a longer one up to a submission of 8 MiB (runner-protocol §11) with its framing, so many of them at a time.
LONG_BYTES = 9 * 2**20
LONG_AT_ONCE = 16

# A body that takes longer than this is given up.
GATHERING_SECONDS = 300.0

# Django cannot read a body without its length. Who does not declare it is taken to send the longest there may be: an
# upload of 128 MiB (runner-protocol §11), framed.
UNDECLARED_BYTES = 129 * 2**20


# Whoever is gone does not hear it.
TOO_SLOW = Answer(408, [(b"connection", b"close"), (b"content-length", b"0")], b"")


class Begun(NamedTuple):
    """What has been received of a body, and whether that is all."""

    body: bytes
    ended: bool


async def beginning(receive: Receive, *, at_most: int) -> Begun:
    """Receive a body until it ends or exceeds this many bytes. CallerGone when the caller hangs up before."""
    chunks = bytearray()
    while True:
        try:
            async with asyncio.timeout(SILENCE_SECONDS):
                message = await receive()
        except TimeoutError:
            raise CallerGone from None
        if message["type"] == "http.disconnect":
            raise CallerGone
        chunks += message.get("body", b"")
        if not message.get("more_body", False):
            return Begun(bytes(chunks), ended=True)
        if len(chunks) > at_most:
            return Begun(bytes(chunks), ended=False)


async def hang_up(receive: Receive) -> None:
    """Until the caller hangs up. One such task a request: servers report a cancelled receive() as a hang-up."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def gathered(receive: Receive, long: asyncio.Semaphore) -> Begun:
    """A body, whole or as much of it as any view reads that takes no file. `long` is the room for long ones.

    CallerGone when the caller hangs up before, or takes too long.
    """
    try:
        async with asyncio.timeout(GATHERING_SECONDS):
            begun = await beginning(receive, at_most=GATHERED_BYTES)
            if begun.ended:
                return begun
            async with long:
                rest = await beginning(receive, at_most=LONG_BYTES)
                return Begun(begun.body + rest.body, rest.ended)
    except TimeoutError:
        raise CallerGone from None


async def converse(app: Wsgi, pool: Executor, scope: Scope, receive: Receive, send: Send, *, long: asyncio.Semaphore | None) -> None:
    """Serve one request. `long` is the room for long bodies; None: this one is a file's, and streams to the view."""
    length = declared_length(scope)
    try:
        if length == 0:
            begun = Begun(b"", ended=True)
        elif long is not None:
            begun = await gathered(receive, long)
        elif length is None:
            begun = await beginning(receive, at_most=GATHERED_BYTES)
        else:
            # Nothing is received before the view reads, for it asks first who sends: receiving is what answers
            # `Expect: 100-continue`.
            begun = Begun(b"", ended=False)
    except CallerGone:
        await send(TOO_SLOW.start())
        await send(TOO_SLOW.rest())
        return
    await resume(app, pool, scope, receive, send, begun=begun)


async def resume(app: Wsgi, pool: Executor, scope: Scope, receive: Receive, send: Send, *, begun: Begun) -> None:
    """Serve a request whose body has begun to arrive."""
    exchange = Exchange(app, scope, receive, send, begun)
    try:
        job = pool.submit(contextvars.copy_context().run, exchange.run)
        answer = await asyncio.wrap_future(job)
        if answer is not None:
            await send(answer.start())
            await send(answer.rest())
    except CallerGone:
        pass
    finally:
        exchange.end()


class Exchange:
    """A request under way: `run` belongs to the pool thread, all else to the loop."""

    def __init__(self, app: Wsgi, scope: Scope, receive: Receive, send: Send, begun: Begun) -> None:
        self._app = app
        self._scope = scope
        self._receive = receive
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._incoming = Incoming(receive, self._loop, begun=begun.body, ended=begun.ended)
        self._length = len(begun.body) if begun.ended else UNDECLARED_BYTES
        self._watch: asyncio.Task[None] | None = None
        self._over = False

    def run(self) -> Answer | None:
        """The whole answer, to be sent by the loop; None when it has been streamed."""
        head = Head()
        body = io.BufferedReader(self._incoming, 2**16)
        response = self._app(environ_of(self._scope, body, length=self._length), head)
        try:
            if self._scope["method"] == "HEAD":
                return Answer(head.status, head.headers, b"")
            if not is_stream(response):
                return head.whole(response)
            self._stream(head.start(), response)
            return None
        finally:
            close(response)

    def end(self) -> None:
        """Nobody listens any more: a thread that still streams stops at its next block."""
        self._over = True
        if self._watch is not None:
            self._watch.cancel()

    def _stream(self, start: Message, response: Iterable[bytes]) -> None:
        self._cross(self._pass(start))
        for block in response:
            if block:
                self._cross(self._pass({"type": "http.response.body", "body": block, "more_body": True}))
        self._cross(self._pass({"type": "http.response.body", "body": b""}))

    def _cross(self, step: Coroutine[Any, Any, None]) -> None:
        crossing = asyncio.run_coroutine_threadsafe(step, self._loop)
        try:
            crossing.result(SILENCE_SECONDS)
        except TimeoutError:
            crossing.cancel()
            raise CallerGone from None

    async def _pass(self, message: Message) -> None:
        # uvicorn takes what it is sent for a caller who is gone without a word, so the line itself is watched.
        if self._watch is None and self._incoming.ended:
            self._watch = self._loop.create_task(hang_up(self._receive))
        if self._over or (self._watch is not None and self._watch.done()):
            raise CallerGone
        await self._send(message)
