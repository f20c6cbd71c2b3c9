"""uvicorn's WebSocket connections, with two manners it lacks."""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

# How long a connection that broke the protocol is still listened to, its bytes thrown away.
LINGER_SECONDS = 5.0


class Connection(WebSocketsSansIOProtocol):
    """One connection.

    After a message that is too long or malformed it throws away what still comes, instead of hanging up at once: a
    peer that is still sending would be reset, and never read why. And it takes a refusal before the upgrade for an
    answer, instead of logging each as an error.
    """

    def data_received(self, data: bytes) -> None:
        """What comes after the protocol was broken means nothing."""
        if self.conn.parser_exc is None:
            super().data_received(data)

    def handle_parser_exception(self) -> None:
        """Say what was wrong, and leave the hanging up to the peer, for a while."""
        said = self.conn.close_sent
        assert said is not None
        self.queue.put_nowait({"type": "websocket.disconnect", "code": said.code, "reason": said.reason})
        self.transport.write(b"".join(self.conn.data_to_send()))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.close_sent = True
        if self.read_paused:
            self.read_paused = False
            self.transport.resume_reading()
        self.close_timer = self.loop.call_later(LINGER_SECONDS, self.transport.close)

    async def send(self, message: Any) -> None:
        """A whole answer instead of an upgrade ends the handshake too."""
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body", False):
            self.handshake_complete = True
