"""The tiny site, started as an installation starts: gunicorn, the front, a PostgreSQL."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import httpx
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

PROJECT = Path(__file__).resolve().parents[2]

TABLES = """
CREATE TABLE fake_job (id uuid PRIMARY KEY, kind text, at timestamptz DEFAULT clock_timestamp());
CREATE TABLE fake_submission (id uuid PRIMARY KEY, judged bool);
CREATE TABLE fake_count (name text PRIMARY KEY, value int);
"""
EMPTY = "DELETE FROM fake_job; DELETE FROM fake_submission; DELETE FROM fake_count"


@dataclass
class Told:
    """What a caller in a thread of its own got, and when."""

    thread: threading.Thread
    response: httpx.Response | None = None
    seconds: float = 0.0

    @property
    def status(self):
        """The status, once there is an answer."""
        self.thread.join(20)
        assert self.response is not None, "no answer"
        return self.response.status_code

    @property
    def pending(self):
        """Whether there is no answer yet."""
        return self.thread.is_alive()


@dataclass
class Site:
    """A running server and its database."""

    port: int
    process: subprocess.Popen
    database: psycopg.Connection
    http: httpx.Client

    @property
    def url(self):
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    def post(self, path, **body):
        """One call, from any thread."""
        return self.http.post(self.url + path, json=body)

    def get(self, path, **query):
        """One call, from any thread."""
        return self.http.get(self.url + path, params=query)

    def claim(self, **body):
        """Claim now."""
        return self.post("/api/v1/runner/jobs/claim", **body)

    def claiming(self, **body):
        """Claim in a thread; returns when the server has looked once."""
        before = self.count("looks")
        told = self.telling(self.claim, **body)
        until(lambda: self.count("looks") > before)
        time.sleep(0.05)  # from the look to the parking
        return told

    def telling(self, ask, *args, **kwargs):
        """Ask in a thread."""

        def run():
            began = time.monotonic()
            told.response = ask(*args, **kwargs)
            told.seconds = time.monotonic() - began

        told = Told(threading.Thread(target=run, daemon=True))
        told.thread.start()
        return told

    def enqueue(self, kind="a", **query):
        """Add jobs through the site, which announces them."""
        assert self.http.post(f"{self.url}/enqueue/{kind}", params=query).status_code == 201

    def sql(self, statement, *values):
        """Past the site, straight in its database."""
        cursor = self.database.execute(statement, values)
        return cursor.fetchall() if cursor.description else []

    def count(self, name):
        """A counter of the site's views."""
        rows = self.sql("SELECT value FROM fake_count WHERE name = %s", name)
        return rows[0][0] if rows else 0

    def workers(self):
        """The process ids of the worker processes."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in children.read_text().split()]

    def terminate(self):
        """End it as an operator does; seconds until it is gone."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(15)
        return time.monotonic() - began


def until(condition, seconds=5.0):
    """Wait for a condition, and fail when it does not come."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


@contextmanager
def empty_database():
    """The address of an empty database for as long as the block lasts."""
    server = os.environ["DATABASE_URL"]
    name = f"{os.environ['ASSIZE_TEST_DATABASE']}_{uuid4().hex[:8]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
        try:
            with psycopg.connect(server, dbname=name, autocommit=True) as inside:
                inside.execute(TABLES)
            yield make_conninfo(server, dbname=name)
        finally:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@contextmanager
def serving(*, workers=1):
    """A server on a free port, with a database of its own, for as long as the block lasts."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "gunicorn", "-c", "config/gunicorn.py", "--log-level", "warning"]
    command += ["--bind", f"127.0.0.1:{port}", "--workers", str(workers), "tests.front.site:application"]
    with (
        empty_database() as address,
        psycopg.connect(address, autocommit=True) as database,
        httpx.Client(timeout=30) as client,
    ):
        environment = {**os.environ, "DATABASE_URL": address}
        environment.pop("DJANGO_SETTINGS_MODULE", None)
        site = Site(port, subprocess.Popen(command, cwd=PROJECT, env=environment), database, client)
        try:
            until(lambda: _is_up(site, workers), 20)
            yield site
        finally:
            if site.process.poll() is None:
                site.terminate()


def _is_up(site, workers):
    assert site.process.poll() is None, "the server did not start"
    listening = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%%'"
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", site.port)) == 0 and site.sql(listening)[0][0] == workers


@pytest.fixture(scope="session")
def one_process():
    """One server for many tests."""
    with serving() as site:
        yield site


@pytest.fixture(scope="session")
def two_processes():
    """One server of two processes for many tests."""
    with serving(workers=2) as site:
        yield site


@pytest.fixture
def site(one_process):
    """A server with nothing in its queue."""
    one_process.sql(EMPTY)
    return one_process


@pytest.fixture
def pair(two_processes):
    """A server of two processes, with nothing in its queue."""
    two_processes.sql(EMPTY)
    return two_processes
