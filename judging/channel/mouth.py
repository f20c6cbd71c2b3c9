"""Saying something to a runner, who may not listen."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from judging.channel import frames
from judging.channel.ear import Gone, Message

Send = Callable[[Message], Awaitable[None]]

# A runner that takes nothing for this long is treated as gone.
DEAF_SECONDS = 60.0


class Mouth:
    """Speaks on one connection."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def tell(self, told: frames.Told) -> None:
        """As `say`, of a frame that is not written yet."""
        await self.say(frames.write(told))

    async def say(self, frame: str) -> None:
        """Send one frame. Raises Gone when the runner is, or takes nothing."""
        try:
            async with asyncio.timeout(DEAF_SECONDS):
                await self._send({"type": "websocket.send", "text": frame})
        except (TimeoutError, OSError):
            raise Gone from None
