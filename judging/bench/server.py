"""A server process to be measured, as an installation starts it; ended with the block that started it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

_UP_SECONDS = 30
_END_SECONDS = 15
SITE = "judging.bench.site:application"
RAW = "judging.bench.raw:application"


@dataclass(frozen=True, slots=True)
class Server:
    """Where it listens, and its process."""

    port: int
    process: subprocess.Popen[bytes]

    @property
    def worker(self) -> Path:
        """The worker's entry in /proc."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return Path(f"/proc/{children[0]}")

    @property
    def kilobytes(self) -> int:
        """What the worker holds in memory, of its own."""
        return self._status("RssAnon")

    @property
    def threads(self) -> int:
        """How many threads the worker has."""
        return self._status("Threads")

    def _status(self, name: str) -> int:
        lines = (self.worker / "status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


@contextmanager
def serving(address: str, application: str = SITE, **environment: str) -> Iterator[Server]:
    """One worker process on a free port of the loopback, on this database."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "gunicorn", "-c", "config/gunicorn.py", "--log-level", "critical"]
    command += ["--bind", f"127.0.0.1:{port}", "--workers", "1", application]
    ours = {"DATABASE_URL": address, "ASSIZE_EMBEDDED": "1", "ASSIZE_LOG_LEVEL": "ERROR", **environment}
    server = Server(port, subprocess.Popen(command, cwd=settings.BASE_DIR, env={**os.environ, **ours}))
    try:
        _come_up(server)
        yield server
    finally:
        end(server)


def end(server: Server) -> float:
    """End it as an operator does; seconds until it was gone."""
    began = time.perf_counter()
    server.process.terminate()
    try:
        server.process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        server.process.kill()
        server.process.wait()
    return time.perf_counter() - began


def _come_up(server: Server) -> None:
    deadline = time.monotonic() + _UP_SECONDS
    while time.monotonic() < deadline:
        if server.process.poll() is not None:
            break
        if _answers(server.port):
            return
        time.sleep(0.05)
    raise RuntimeError("the server to be measured did not start")


def _answers(port: int) -> bool:
    """Whether a worker answers; the socket alone is there before any. Nonsense is refused by every application."""
    with socket.socket() as probe:
        probe.settimeout(5)
        if probe.connect_ex(("127.0.0.1", port)) != 0:
            return False
        probe.sendall(b"nonsense\r\n\r\n")
        try:
            return probe.recv(16) != b""
        except OSError:
            return False
