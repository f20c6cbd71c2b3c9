"""uvicorn's HTTP connections, with a bound on what comes before a body."""

from __future__ import annotations

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

# What a request may have in its line and headers, looked at between two reads of the socket.
HEAD_BYTES = 64 * 1024

TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class Connection(HttpToolsProtocol):
    """One connection.

    The parser puts a header together again at every read: one of a hundred megabytes kept the loop busy for longer
    than a worker may be silent. Trailers and what stands between chunks count like a head.
    """

    headless = 0
    """Bytes read since the last that was part of a body, or ended a head or a message."""

    def data_received(self, data: bytes) -> None:
        """What the socket brought."""
        if self.headless > HEAD_BYTES:
            self.transport.write(TOO_LARGE)
            self.transport.close()
            return
        self.headless += len(data)
        super().data_received(data)

    def on_headers_complete(self) -> None:
        """The head ended."""
        self.headless = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """The body goes on."""
        self.headless = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request ended."""
        self.headless = 0
        super().on_message_complete()
