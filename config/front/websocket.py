"""uvicorn's WebSocket connections, with the manners it lacks towards clients that have none."""

from __future__ import annotations

import logging
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

# How long a connection that broke the protocol is still listened to, its bytes thrown away.
LINGER_SECONDS = 5.0

# How long a peer may take over its farewell when the process ends.
FAREWELL_SECONDS = 1.0

BAD = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"

# A line for every connection and every refusal, in words the peer chooses, would be a log that anybody can flood.
quiet = logging.getLogger("uvicorn.error.websocket")
quiet.setLevel(logging.WARNING)


class Connection(WebSocketsSansIOProtocol):
    """One connection.

    What breaks the protocol is answered by a close code, not by a line in the log, and what still comes after it is
    thrown away: a peer that is still sending would be reset, and never read why. What a peer makes the server hold is
    bounded by the longest message and the transport's own buffer: no more is read while answers wait to be taken.
    """

    frames: list[Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.logger = self.conn.logger = quiet

    def data_received(self, data: bytes) -> None:
        """What comes after the protocol was broken means nothing."""
        if self.conn.parser_exc is not None:
            return
        super().data_received(data)
        if self.conn.handshake_exc is not None and not self.handshake_initiated:
            self._refuse_head()
        self._heed_backlog()

    def handle_cont(self, event: Any) -> None:
        """A fragment: joined as it comes, since a list of tiny ones takes many times their length."""
        if not isinstance(self.frames[0], bytearray):
            self.frames[0] = bytearray(self.frames[0])
        self.frames[0] += event.data
        if event.fin:
            self.send_receive_event_to_app()

    def send_receive_event_to_app(self) -> None:
        """A whole message. uvicorn writes a traceback for each that is no UTF-8."""
        if self.curr_msg_data_type == "text" and not self.close_sent and not _is_text(self.frames[0]):
            self.frames = []
            self.conn.send_close(1007)
            self.handle_parser_exception()
            return
        super().send_receive_event_to_app()

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
        self.close_timer = self.loop.call_later(LINGER_SECONDS, self.transport.abort)

    def pause_writing(self) -> None:
        """The peer takes less than it asks for, pongs if nothing else: nothing more is read of it."""
        super().pause_writing()
        self._heed_backlog()

    def resume_writing(self) -> None:
        """It has taken enough."""
        super().resume_writing()
        if not self.read_paused and not self.transport.is_closing():
            self.transport.resume_reading()

    async def receive(self) -> Any:
        """The next message; uvicorn goes on reading after it."""
        message = await super().receive()
        self._heed_backlog()
        return message

    async def send(self, message: Any) -> None:
        """A whole answer instead of an upgrade ends the handshake too, and nobody waits for ever to be taken leave of."""
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body", False):
            self.handshake_complete = True
        if message["type"] == "websocket.close" and self.close_timer is not None:
            self.close_timer.cancel()
            self.close_timer = self.loop.call_later(self.close_timeout, self.transport.abort)

    async def run_asgi(self) -> None:
        """The application from beginning to end. What its peer has not taken by then it never will."""
        await super().run_asgi()
        if not self.writable.is_set():
            self.transport.abort()

    def shutdown(self) -> None:
        """The process ends. The application hears of that from the hub, and ends after the message it is in the middle of."""
        self.close_timeout = FAREWELL_SECONDS
        if self.close_sent:
            super().shutdown()
            self.loop.call_later(FAREWELL_SECONDS, self.transport.abort)
        elif not self.writable.is_set():
            self.transport.abort()

    def _refuse_head(self) -> None:
        """The request was refused before there was one: too many headers, too long a line, a body. uvicorn says nothing."""
        self.handshake_complete = self.close_sent = True
        self.transport.write(b"".join(self.conn.data_to_send()) or BAD)
        self.transport.close()

    def _heed_backlog(self) -> None:
        if not self.writable.is_set() and not self.transport.is_closing():
            self.transport.pause_reading()


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
