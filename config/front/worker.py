"""The gunicorn worker that serves the front."""

from typing import Any, ClassVar

from uvicorn_worker import UvicornWorker

from config.launch import channel_max_bytes


class FrontWorker(UvicornWorker):
    """uvicorn, set up for thousands of parked requests and idle sockets."""

    CONFIG_KWARGS: ClassVar[dict[str, Any]] = {
        "loop": "uvloop",
        "http": "config.front.http:Connection",
        # The front begins and ends with the process; a front that cannot begin must not serve.
        "lifespan": "on",
        "access_log": False,
        "server_header": False,
        # An idle socket costs 57 kB with compression, 21 kB without (performance.md §3).
        "ws_per_message_deflate": False,
        # Existing clients of the channel read one frame a second while they judge: a ping would be one too many.
        "ws_ping_interval": None,
        "ws": "config.front.websocket:Connection",
        "ws_max_size": channel_max_bytes(),
        # Uploads under way get this long, and are cut before gunicorn kills the worker.
        "timeout_graceful_shutdown": 8,
    }
