"""The real site behind its real server: what the test client cannot show. Parking itself is tests/front's."""

import hashlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest
from django.db import connection
from psycopg.conninfo import make_conninfo

from judging import queue
from judging.models import Job, Maintenance
from runners.models import BearerToken
from tests import factories
from tests.factories import Box

PROJECT = Path(__file__).resolve().parents[2]


class Server:
    """`gunicorn -c config/gunicorn.py` on the test database, in a process of its own."""

    def __init__(self, data: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/api/v1/"
        self.http = httpx.Client(timeout=30)
        self._environment = {
            **os.environ,
            "DATABASE_URL": make_conninfo(os.environ["DATABASE_URL"], dbname=connection.settings_dict["NAME"]),
            "ASSIZE_DB_POOL_MAX": "8",
            "ASSIZE_DATA": str(data),
        }

    def start(self) -> None:
        """Start, and wait until it answers."""
        command = [sys.executable, "-m", "gunicorn", "-c", "config/gunicorn.py", "--bind", f"127.0.0.1:{self.port}"]
        # A session of its own, so that a kill takes the workers along.
        self.process = subprocess.Popen(command, cwd=PROJECT, env=self._environment, start_new_session=True)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            assert self.process.poll() is None, "the server did not start"
            try:
                self.http.get(f"{self.url}health")
            except httpx.TransportError:
                time.sleep(0.05)
            else:
                return
        raise AssertionError("the server did not answer")

    def end(self, how: signal.Signals) -> None:
        """Signal every process of it, and wait for the first."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, how)
        self.process.wait(20)

    def post(self, path: str, box: Box, document: object = None, **more) -> httpx.Response:
        """One call by a box."""
        return self.http.post(self.url + path, json=document, headers=box.bearer, **more)

    def claiming(self, box: Box, wait: float) -> "Waiting":
        """A claim in a thread, parked when this returns."""
        waiting = Waiting(lambda: self.post("runner/jobs/claim", box, {"waitSeconds": wait}))
        time.sleep(0.4)
        return waiting


class Waiting:
    """A call under way: its answer, and how long it took."""

    def __init__(self, call) -> None:
        self._thread = threading.Thread(target=self._run, args=(call,), daemon=True)
        self._thread.start()

    def _run(self, call) -> None:
        began = time.monotonic()
        self.response = call()
        self.seconds = time.monotonic() - began

    @property
    def pending(self) -> bool:
        """Whether there is no answer yet."""
        return self._thread.is_alive()

    def answer(self, within: float = 20) -> httpx.Response:
        """The answer, which must come within so many seconds."""
        self._thread.join(within)
        assert not self.pending, "no answer"
        return self.response


@pytest.fixture(scope="module")
def running(django_db_setup, tmp_path_factory):
    """One server for this module's tests."""
    server = Server(tmp_path_factory.mktemp("data"))
    server.start()
    yield server
    server.end(signal.SIGTERM)
    server.http.close()


@pytest.fixture
def server(running, box):
    """The server, after it has seen the tables empty."""
    return running


def test_an_empty_wait_ends_within_a_sixteenth_before_its_time(server, box):
    waiting = server.claiming(box, 2)

    assert waiting.answer().status_code == 204
    # The thread that asks takes its time as well.
    assert 2 * 15 / 16 <= waiting.seconds <= 2.2


def test_of_two_that_wait_exactly_one_gets_the_job_at_once(server, box, box_2):
    waits = [server.claiming(each, 3) for each in (box, box_2)]

    began = time.monotonic()
    factories.submission()
    while all(wait.pending for wait in waits):
        time.sleep(0.005)

    assert time.monotonic() - began < 1
    assert sorted(wait.answer().status_code for wait in waits) == [200, 204]


@pytest.mark.parametrize(("change", "status"), [("drain", 204), ("revocation", 403), ("expiry", 401), ("retag", 200)])
def test_a_change_while_a_runner_waits_is_obeyed_within_a_second(server, box, change, status):
    if change == "retag":
        factories.submission(factories.work(pools=("finals",)))
    if change == "expiry":
        BearerToken.objects.update(expires_at=_in_seconds(1))
    waiting = server.claiming(box, 20)
    assert waiting.pending

    if change == "drain":
        queue.switch_maintenance(Maintenance.DRAINING)
    elif change == "revocation":
        queue.revoke(box.id, by="user:1", reason="stolen")
    elif change == "retag":
        queue.retag(box.id, tags=["finals"])

    assert waiting.answer(within=1.6).status_code == status


def _in_seconds(seconds: float):
    with connection.cursor() as cursor:
        cursor.execute("SELECT judge_now() + %s * interval '1 second'", [seconds])
        return cursor.fetchone()[0]


def test_tokens_and_held_jobs_survive_a_killed_server(server, box):
    factories.submission()
    job = server.post("runner/jobs/claim", box, {}).json()

    server.end(signal.SIGKILL)
    server.start()

    said = {"leaseToken": job["leaseToken"], "verdict": "Accepted"}
    answer = server.post(f"runner/jobs/{job['jobId']}/report", box, said)
    assert answer.json()["state"] == "completed"
    assert Job.objects.get().state == "completed"


def test_no_call_fails_for_connections_that_ended_while_nobody_used_them(server, box):
    # Enough at once that the pool holds several.
    for waiting in [Waiting(lambda: server.post("runner/jobs/claim", box, {})) for _ in range(8)]:
        waiting.answer(within=10)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE datname = current_database() AND application_name = 'assize' AND pid <> pg_backend_pid()"
        )
        (ended,) = cursor.fetchone()
    time.sleep(0.2)

    answers = [server.post("runner/jobs/claim", box, {}).status_code for _ in range(2 * ended)]

    assert ended >= 2
    assert answers == [204] * len(answers)


def test_megabytes_travel_both_ways_whole(server, box):
    content = os.urandom(3_000_000)
    factories.submission()
    job = server.post("runner/jobs/claim", box, {}).json()

    parts = {"sha256": hashlib.sha256(content).hexdigest()}
    sent = server.http.post(f"{server.url}runner/files", data=parts, files={"file": ("log", content)}, headers=box.bearer)
    file = sent.json()["id"]
    server.post(f"runner/jobs/{job['jobId']}/files", box, {"leaseToken": job["leaseToken"], "fileId": file, "name": "log"})
    whole = server.http.get(f"{server.url}runner/files/{file}", headers=box.bearer)
    part = server.http.get(f"{server.url}runner/files/{file}", headers={**box.bearer, "Range": "bytes=-5"})

    assert whole.content == content
    assert (part.status_code, part.content) == (206, content[-5:])


def test_machines_that_fall_silent_in_an_upload_keep_neither_files_nor_the_database_from_others(server, box):
    source = factories.stored_file()
    head = f"Host: x\r\nAuthorization: Bearer {box.token}\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 999\r\n"
    lines = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(9)]
    for line in lines:
        line.sendall(f"POST /api/v1/runner/files HTTP/1.1\r\n{head}\r\n--b\r\n".encode())
    time.sleep(0.5)

    factories.submission(source=source)
    claimed = server.post("runner/jobs/claim", box, {}, timeout=5)
    # There is a slot for it; that its content is elsewhere is no matter here.
    file = server.http.get(f"{server.url}runner/files/{source.id}", headers=box.bearer, timeout=5)

    assert (claimed.status_code, file.status_code) == (200, 503)
    for line in lines:
        line.close()


RAW = {
    "a chunked body": b'POST /api/v1/runner/jobs/claim HTTP/1.1\r\nTransfer-Encoding: chunked\r\n%s\r\n7\r\n{"a":1}\r\n0\r\n\r\n',
    "an unknown charset": b"POST /api/v1/runner/heartbeat HTTP/1.1\r\nContent-Type: a/b; x*=bogus''x\r\nContent-Length: 0\r\n%s\r\n",
    "a path that is no text": b"GET /api/v1/runner/files/%%ff%%00\xff HTTP/1.1\r\n%s\r\n",
    "two tokens": b"POST /api/v1/runner/heartbeat HTTP/1.1\r\nAuthorization: Bearer x\r\nContent-Length: 0\r\n%s\r\n",
    "another host": b"GET /api/v1/schema/ HTTP/1.1\r\nHost: a_b:c\r\n%s\r\n",
    "an absolute address": b"GET http://elsewhere/api/v1/health HTTP/1.1\r\n%s\r\n",
    "a method of its own": b"BREW /api/v1/health HTTP/1.1\r\n%s\r\n",
}


@pytest.mark.parametrize("name", RAW)
def test_no_bytes_on_the_line_are_a_server_error(server, box, name):
    head = f"Host: x\r\nAuthorization: Bearer {box.token}\r\nConnection: close\r\n".encode()
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as line:
        line.sendall(RAW[name].replace(b"%s", head).replace(b"%%", b"%"))
        answer = b""
        while chunk := line.recv(65536):
            answer += chunk

    assert answer.startswith(b"HTTP/1.1 ")
    assert int(answer[9:12]) < 500, answer[:500]


@pytest.mark.parametrize("path", ["runner/jobs/claim", "runner/heartbeat", "runner/register", "runner/files"])
def test_ten_megabytes_of_json_are_answered_not_cut_off(server, box, path):
    with httpx.Client(timeout=30) as fresh:
        answer = fresh.post(f"{server.url}{path}", content=b'{"a":"' + b"x" * 10_000_000 + b'"}', headers=box.bearer)

    assert answer.status_code in (204, 413, 422)
