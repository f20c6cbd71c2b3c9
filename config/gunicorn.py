"""gunicorn's configuration: `gunicorn -c config/gunicorn.py`, or `manage.py serve`. Needs DATABASE_URL.

Threads x processes: each process runs up to 16 threads that use the database (config/front/pools.py), each with a
connection of the pool (ASSIZE_DB_POOL_MAX), and one connection that LISTENs. All processes of all machines together
must stay below the server's max_connections.
"""

import contextlib
import ctypes
import os
import resource
import signal
import socket
from typing import Any

from config import launch

if not os.environ.get("DATABASE_URL"):
    raise SystemExit("A server needs DATABASE_URL. To try Assize out: python3 manage.py demo")

# A parked runner is an open file; twice as many may be open while one half comes back.
OPEN_FILES = 65536

chdir = str(launch.PROJECT)
wsgi_app = "config.asgi:application"
# gunicorn's own asgi worker reports false disconnects and accepts slowly (architecture §3).
worker_class = "config.front.worker.FrontWorker"
# ASSIZE_BIND: address and port, or unix:PATH.
bind = os.environ.get("ASSIZE_BIND", "127.0.0.1:8000")
# ASSIZE_WORKERS: processes. One parks ten thousand runners, and wakes its own at once; others it tells every 15 ms.
workers = int(os.environ.get("ASSIZE_WORKERS", "1"))
# A whole hall of runners comes back at once after a restart.
backlog = 4096
# Parked waits are answered at once on TERM; the rest of the time belongs to uploads under way.
graceful_timeout = 10
timeout = 60
# Longer than a proxy keeps its own end, so that it never sends into a connection that is being closed.
keepalive = 75
# A control socket is one more door to guard.
control_socket_disable = True
# Every request would be a line: runners ask thousands of times a minute. What matters is logged by the site itself.
accesslog = None
errorlog = "-"

# A runner on the channel may be silent for ever, and so may a dead one: the kernel asks, because the channel must not.
KEEPALIVE = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 15),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 4),
    # Nor may one that takes nothing keep what is to be sent to it.
    (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 120_000),
)


def when_ready(server: Any) -> None:
    """Accepted connections inherit what their listener has."""
    for listener in server.LISTENERS:
        if listener.sock.family in (socket.AF_INET, socket.AF_INET6):
            for level, option, value in KEEPALIVE:
                listener.sock.setsockopt(level, option, value)


def post_fork(_server: Any, _worker: Any) -> None:
    """A worker whose master was killed must not serve on: it would hold the port against the next master.

    The kernel tells it (PR_SET_PDEATHSIG); elsewhere than on Linux nothing does.
    """
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(1, int(signal.SIGTERM))


_soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
_wanted = OPEN_FILES if _hard == resource.RLIM_INFINITY else min(OPEN_FILES, _hard)
if _soft != resource.RLIM_INFINITY and _soft < _wanted:
    resource.setrlimit(resource.RLIMIT_NOFILE, (_wanted, _hard))
