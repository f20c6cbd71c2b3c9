"""The ASGI application of the runner channel: who may connect, before the upgrade (channel-protocol §1)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress
from datetime import datetime
from http import HTTPStatus
from typing import TypeVar

import msgspec
import structlog
from django.conf import settings
from django.db import DatabaseError, connections

from judging.channel.desk import Desk
from judging.channel.ear import Gone, Message, Receive
from judging.channel.line import Closing, Line
from judging.channel.mouth import Send
from judging.errors import RateLimited, Refusal, StorageUnavailable, Unauthenticated
from judging.protocol.authentication import address_in
from judging.wake import Hub
from runners import channel_keys
from runners.channel_keys import Caller

T = TypeVar("T")
Scope = Message
PATH = re.compile(r"/v0/runners/([0-9A-Za-z_-]{1,64})/channel")
log = structlog.get_logger()


class Channel:
    """Serves websocket scopes; others than the channel's address go to `elsewhere`."""

    def __init__(self, elsewhere: Callable[[Scope, Receive, Send], object]) -> None:
        self._elsewhere = elsewhere

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection, from its handshake to its end."""
        named = PATH.fullmatch(scope["path"])
        if named is None:
            await self._elsewhere(scope, receive, send)  # type: ignore[misc]
            return
        hub: Hub = scope["assize.hub"]
        pool: Executor = scope["assize.calls"]
        since = hub.index.heard
        await receive()
        try:
            who, connected_since = await _in_thread(pool, lambda: _admit(scope, named[1]))
        except Refusal as refused:
            await refuse(scope, send, refused)
            return
        try:
            await send({"type": "websocket.accept"})
            desk = Desk(who, pool, again=scope["assize.again"], registry=registry_of(scope))
            line = Line(desk, hub, receive, send, since=since)
            await _served(line, send)
        finally:
            with suppress(Exception):
                await _in_thread(pool, lambda: channel_keys.disconnected(who, since=connected_since))


async def _served(line: Line, send: Send) -> None:
    try:
        await line.serve()
    except Closing as closing:
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(1):
                await send({"type": "websocket.close", "code": closing.code, "reason": closing.reason})
    except Gone:
        return
    except OSError:
        return


async def _in_thread(pool: Executor, act: Callable[[], T]) -> T:
    """Ask the database outside any connection's desk. Raises StorageUnavailable when it is away."""

    def run() -> T:
        try:
            return act()
        except DatabaseError as error:
            raise StorageUnavailable from error
        finally:
            connections.close_all()

    return await asyncio.wrap_future(pool.submit(run))


def _admit(scope: Scope, named: str) -> tuple[Caller, datetime | None]:
    """Who connects, noted as connected. Raises Unauthenticated, RateLimited."""
    headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
    scheme, _, text = headers.get(b"authorization", "").strip().partition(" ")
    if scheme.lower() != "bearer":
        raise Unauthenticated
    who = channel_keys.caller(text.strip(), named)
    if not channel_keys.count_attempt(who):
        raise RateLimited("Too many connections in a minute.")
    meta = {"REMOTE_ADDR": (scope.get("client") or ("", 0))[0], "HTTP_X_FORWARDED_FOR": headers.get(b"x-forwarded-for", "")}
    return who, channel_keys.connected(who, address=address_in(meta))


async def refuse(scope: Scope, send: Send, refused: Refusal) -> None:
    """Refuse before the upgrade: in the refusal's own words where the server can say them, else by a plain 403."""
    if "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close", "code": 1008})
        return
    body = msgspec.json.encode({"status": int(refused.status), "detail": refused.detail, "code": refused.code})
    headers = [(b"content-type", b"application/problem+json"), (b"content-length", b"%d" % len(body))]
    if refused.status == HTTPStatus.UNAUTHORIZED:
        headers.append((b"www-authenticate", b"Bearer"))
    if refused.retry_after is not None:
        headers.append((b"retry-after", b"%d" % refused.retry_after))
    await send({"type": "websocket.http.response.start", "status": int(refused.status), "headers": headers})
    await send({"type": "websocket.http.response.body", "body": body})


def registry_of(scope: Scope) -> str:
    """The URL the runner reaches this server by: configured, or as its own request says."""
    if settings.PUBLIC_URL:
        return str(settings.PUBLIC_URL)
    headers = dict(scope["headers"])
    host = headers.get(b"host", b"localhost").decode("latin-1")
    forwarded = headers.get(b"x-forwarded-proto", b"").decode("latin-1") if settings.PROXIES else ""
    secure = forwarded == "https" or scope.get("scheme") == "wss"
    return f"{'https' if secure else 'http'}://{host}"
