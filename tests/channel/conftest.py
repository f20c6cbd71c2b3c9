"""Runners on real WebSockets against the site as it is served, on the test's own database."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import pytest
from django.db import connection
from psycopg.conninfo import make_conninfo
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode
from websockets.sync.client import ClientConnection, connect

from config import launch
from judging import queue
from judging.models import Job
from judging.rows import JobRow
from tests import factories

OPERATOR = "user:1"
ACCEPTED = [{"exit_code": 0, "stdout": '{"verdict": "Accepted", "score": 100, "maxScore": 100}'}]


@dataclass
class Served:
    """A running site."""

    port: int
    process: subprocess.Popen
    log: Path | None = None

    def url(self, runner) -> str:
        return f"ws://127.0.0.1:{self.port}/v0/runners/{runner}/channel"

    def http(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    @property
    def logged(self) -> str:
        """What it has written to its log, where the test gave it one."""
        assert self.log is not None, "this server has no log of its own"
        return self.log.read_text(errors="replace")

    def kill(self) -> None:
        """End all its processes as a power cut does."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(10)

    def terminate(self) -> float:
        """End it as an operator does; seconds until it is gone."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(15)
        return time.monotonic() - began


@dataclass
class Wire:
    """One connection of a runner."""

    socket: ClientConnection
    seen: list = field(default_factory=list)

    def say(self, event: str, **members) -> None:
        self.send(json.dumps({"event": event, **members}, default=str))

    def send(self, frame) -> None:
        """One message; a server that closes in the middle of it is for `closed` to tell."""
        with suppress(ConnectionClosed):
            self.socket.send(frame)

    def hear(self, seconds: float = 5) -> dict:
        """The next frame; TimeoutError when there is none."""
        told = json.loads(self.socket.recv(seconds))
        self.seen.append(told)
        return told

    def ask(self, event: str, **members) -> dict:
        self.say(event, **members)
        return self.hear()

    def is_silent(self, seconds: float = 0.3) -> bool:
        """Whether nothing comes for a while, and the connection stays."""
        try:
            self.socket.recv(seconds)
        except TimeoutError:
            return True
        return False

    def closed(self, seconds: float = 5) -> tuple[int, str]:
        """The code and reason the server closes with; whatever it says before is dropped."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                self.socket.recv(max(deadline - time.monotonic(), 0.01))
            except ConnectionClosed as closed:
                end = closed.rcvd
                break
        assert end is not None, "the line was cut without a close frame"
        return end.code, end.reason

    def drop(self) -> None:
        """Cut the line without a farewell."""
        self.socket.socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.socket.close()


@dataclass
class Hall:
    """A served site, one problem, and runners with keys."""

    served: Served
    work: factories.Work
    lines: ExitStack
    keys: dict = field(default_factory=dict)

    def runner(self, **declared) -> UUID:
        box = factories.pending_box(**declared)
        queue.approve(box.id)
        self.keys[box.id] = queue.replace_channel_key(box.id, by=OPERATOR)
        return box.id

    def connect(self, runner: UUID, *, named=None, key=None) -> Wire:
        headers = {"Authorization": f"Bearer {key or self.keys[runner]}"}
        line = connect(self.served.url(named or runner), additional_headers=headers, max_size=None, ping_interval=None, close_timeout=1)
        return Wire(self.lines.enter_context(line))

    def submit(self, **more) -> UUID:
        """A job that waits; its id."""
        return factories.submission(self.work, **more).job

    def claimed(self, wire: Wire, **more) -> UUID:
        """A new job, handed to this connection."""
        return self.handed(wire, self.submit(**more))

    def handed(self, wire: Wire, job: UUID) -> UUID:
        """This very job, handed to this connection, and known to have arrived."""
        told = wire.ask("ready", poll_timeout=5)
        assert (told["event"], told["uuid"]) == ("job", str(job)), told
        until(lambda: stored(job).heard)
        return job

    def running(self, wire: Wire, **more) -> UUID:
        """A job that runs on this connection."""
        job = self.claimed(wire, **more)
        assert wire.ask("running") == {"event": "ack", "job": str(job)}
        return job


def claimed_by(runner: UUID) -> JobRow:
    """A job claimed on the channel without a connection; there must be one."""
    job = queue.claim_on_channel(runner)
    assert isinstance(job, queue.ClaimedJob), job
    return job.row


def token_of(row: JobRow) -> UUID:
    assert row.token is not None
    return row.token


def outcome_of(job: UUID, runner: UUID, output: bytes) -> UUID:
    """The outcome that this output makes; it must be taken."""
    outcome = queue.finish(job, runner=runner, token=None, output=output)
    assert outcome is not None
    return outcome


def opening(hall: Hall, runner: UUID) -> bytes:
    """The request a connection begins with."""
    return (
        f"GET /v0/runners/{runner}/channel HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n"
        f"Authorization: Bearer {hall.keys[runner]}\r\n\r\n"
    ).encode()


def handshake(hall: Hall, runner: UUID) -> socket.socket:
    """A connection without a client's manners, nor its thread that reads."""
    line = socket.create_connection(("127.0.0.1", hall.served.port))
    line.sendall(opening(hall, runner))
    assert line.recv(1024).startswith(b"HTTP/1.1 101")
    return line


def frame(opcode: Opcode, data: bytes, *, fin: bool = True) -> bytes:
    """A client's frame."""
    return Frame(opcode, data, fin).serialize(mask=True)


def workers(served: Served) -> list[int]:
    """The process ids of the workers."""
    return [int(pid) for pid in Path(f"/proc/{served.process.pid}/task/{served.process.pid}/children").read_text().split()]


def sockets(worker: int) -> set[str]:
    """The sockets a worker has open, those to its database among them."""
    return {name for link in Path(f"/proc/{worker}/fd").iterdir() if (name := _target(link)).startswith("socket:")}


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""


def lines_at(port: int) -> set[str]:
    """The open connections that came to this port, by their inodes; what is closed here has none."""
    rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {row[9] for row in rows if row[1].endswith(f":{port:04X}") and row[3] != "0A" and row[9] != "0"}


def memory(worker: int) -> int:
    """A worker's resident memory in bytes."""
    lines = Path(f"/proc/{worker}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


def stored(job: UUID) -> Job:
    return Job.objects.get(id=job)


def until(condition, seconds: float = 5.0) -> None:
    """Wait for a condition, and fail when it does not come."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def is_quiet() -> bool:
    """Whether no server works on the database, nor begins to in a moment: its tables are about to be emptied."""
    for _ in range(3):
        if _busy():
            return False
        time.sleep(0.02)
    return True


def _busy() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'"
        )
        return cursor.fetchone()[0] > 0


@contextmanager
def serving(*, port: int = 0, workers: int = 1, log: Path | None = None, **environment: str):
    """The site, on a free port where none is named, and on the test's database, for as long as the block lasts.

    `log` is where it writes what it logs, else with the test's own output.
    """
    port = port or free_port()
    address = make_conninfo(os.environ["DATABASE_URL"], dbname=connection.settings_dict["NAME"])
    settled = {**os.environ, "DATABASE_URL": address, "ASSIZE_DB_POOL_MAX": "12", "ASSIZE_TICKER_SECONDS": "0", **environment}
    settled.pop("DJANGO_SETTINGS_MODULE", None)
    command = [sys.executable, "manage.py", "serve", "--port", str(port), "--workers", str(workers)]
    with ExitStack() as files:
        output = None if log is None else files.enter_context(log.open("wb"))
        process = subprocess.Popen(command, cwd=launch.PROJECT, env=settled, start_new_session=True, stdout=output, stderr=output)
        served = Served(port, process, log)
        try:
            until(lambda: _is_up(served), 30)
            yield served
        finally:
            if served.process.poll() is None:
                served.terminate()


def _is_up(served: Served) -> bool:
    assert served.process.poll() is None, "the server did not start"
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", served.port)) == 0


@pytest.fixture(scope="session")
def served(movable_clock):
    """One server for all tests that need no other: patient with silent runners."""
    with serving() as site:
        yield site


@pytest.fixture
def hall(served, clock):
    """A hall on the common server."""
    with ExitStack() as lines:
        yield Hall(served, factories.work(), lines)
    until(is_quiet)


@pytest.fixture
def runner(hall) -> UUID:
    return hall.runner(name="box 1")


@pytest.fixture
def wire(hall, runner) -> Wire:
    return hall.connect(runner)
