"""The ASGI front: parks requests that wait, and gives everything else to Django's WSGI handler in pool threads.

environ    a request as WSGI wants it
bridge     the application called for a whole answer
exchange   an ordinary request, streaming both ways
parking    a request that may wait
pools      the threads
life       what a process begins and ends with
http       the server's HTTP connections
websocket  the server's WebSocket connections
worker     the gunicorn worker that serves it
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress

from config.front.bridge import Streamed, Wsgi
from config.front.environ import CallerGone, Receive, Scope, Send, declared_length
from config.front.exchange import beginning, converse, resume
from config.front.life import Life

Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]

CLAIM = "/api/v1/runner/jobs/claim"

# A request that may wait is kept whole; one with a longer body is Django's to refuse.
KEPT_BYTES = 64 * 1024


async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
    """There is no such channel: 404 before the upgrade where the server can say so, else closed."""
    await receive()
    if "websocket.http.response" in scope.get("extensions", {}):
        await send({"type": "websocket.http.response.start", "status": 404, "headers": [(b"content-length", b"0")]})
        await send({"type": "websocket.http.response.body", "body": b""})
    else:
        await send({"type": "websocket.close", "code": 4404})


class Front:
    """The ASGI application around a WSGI one. Parks only where the server speaks lifespan."""

    def __init__(
        self,
        app: Wsgi,
        *,
        websocket: Asgi = refuse,
        sweep: str = "judging.queue.sweep_if_due",
        undo: str = "judging.queue.undo_handout",
    ) -> None:
        """`websocket` serves the channel: it finds where to wait in scope["assize.hub"], and the threads for its database
        work in scope["assize.calls"], for looks nobody asked for in scope["assize.again"].

        `sweep` and `undo` are dotted paths of the verbs called outside requests."""
        self._app = app
        self._websocket = websocket
        self._sweep = sweep
        self._undo = undo
        self._life: Life | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection, of whatever type."""
        match scope["type"]:
            case "http":
                await self._http(scope, receive, send)
            case "websocket":
                await self._channel(scope, receive, send)
            case "lifespan":
                await self._lifespan(receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert self._life is not None, "the server must speak lifespan"
        pools = self._life.pools
        pool = pools.of(scope["path"])
        try:
            if not may_wait(scope):
                long = None if pool is pools.files else self._life.long_bodies
                await converse(self._app, pool, scope, receive, send, long=long)
                return
            begun = await beginning(receive, at_most=KEPT_BYTES)
            with suppress(Streamed):
                if begun.ended:
                    await self._life.parking.serve(scope, receive, send, body=begun.body, pool=pool)
                    return
            await resume(self._app, pool, scope, receive, send, begun=begun)
        except CallerGone:
            pass

    async def _channel(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert self._life is not None, "the server must speak lifespan"
        pools = self._life.pools
        ours = {"assize.hub": self._life.hub, "assize.calls": pools.calls, "assize.again": pools.again}
        await self._websocket({**scope, **ours}, receive, send)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self._life = Life(self._app, sweep=self._sweep, undo=self._undo)
                self._life.begin()
                await send({"type": "lifespan.startup.complete"})
            else:
                if self._life is not None:
                    await self._life.end()
                await send({"type": "lifespan.shutdown.complete"})
                return


def may_wait(scope: Scope) -> bool:
    """Whether this is a claim, or a GET that asks to be told later. Their answers are documents, kept whole."""
    if scope["method"] == "GET":
        return b"waitSeconds=" in scope["query_string"]
    return scope["method"] == "POST" and scope["path"] == CLAIM and (declared_length(scope) or 0) <= KEPT_BYTES
