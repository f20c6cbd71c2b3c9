"""Several processes, and the end of one."""

import gc
import http.client
import os
import socket
import subprocess
import sys
import time
from uuid import uuid4

import httpx
import pytest

from config import launch
from config.front.life import settle
from judging.wake.turns import TURN_SECONDS
from tests.front.conftest import PROJECT, serving, until


@pytest.fixture
def park():
    """Callers on connections of their own, which the kernel spreads over the processes; hung up after the test."""
    opened = []

    def call(site, path, *, count, body=b"", method="POST"):
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        lines = [socket.create_connection(("127.0.0.1", site.port), timeout=10) for _ in range(count)]
        opened.extend(lines)
        for line in lines:
            line.sendall(head + body)
        return lines

    yield call
    for line in opened:
        line.close()


@pytest.fixture
def park_claims(park):
    """Claims that have looked and wait."""

    def claim(site, count):
        before = site.count("looks")
        lines = park(site, "/api/v1/runner/jobs/claim", count=count, body=b'{"waitSeconds": 60}')
        until(lambda: site.count("looks") == before + count, 10)
        time.sleep(0.1)
        return lines

    return claim


def answer(line):
    """The answer on a line: status, whether the server closes, body."""
    response = http.client.HTTPResponse(line)
    response.begin()
    return response.status, response.will_close, response.read()


def answered(lines):
    """The lines on which something has arrived."""
    for line in lines:
        line.setblocking(False)
    return [line for line in lines if _arrived(line)]


def _arrived(line):
    try:
        return line.recv(1, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return False


def test_a_job_announced_in_one_process_reaches_a_waiter_of_any(pair, park_claims):
    lines = park_claims(pair, 8)

    for round_ in range(1, 9):
        pair.enqueue()
        until(lambda expected=round_: len(answered(lines)) == expected, 0.5)
    time.sleep(0.1)

    assert len(answered(lines)) == 8


def test_one_announcement_answers_one_waiter_in_all_processes(pair, park_claims):
    lines = park_claims(pair, 8)

    pair.enqueue()
    time.sleep(0.4)

    assert len(answered(lines)) == 1
    # At most one look a process for the announcement and one for the success.
    assert pair.count("looks") - 8 <= 12


def test_jobs_announced_as_one_reach_waiters_of_all_processes(pair, park_claims):
    lines = park_claims(pair, 8)

    pair.enqueue(n=8)

    until(lambda: len(answered(lines)) == 8, 1)


def test_at_its_end_a_process_answers_every_wait_and_is_gone_in_three_seconds(park, park_claims):
    with serving() as site:
        submission = uuid4()
        site.sql("INSERT INTO fake_submission VALUES (%s, false)", submission)
        claims = park_claims(site, 400)
        awaits = park(site, f"/api/v1/submissions/{submission}?waitSeconds=60", count=20, method="GET")
        time.sleep(0.3)

        seconds = site.terminate()

        assert {answer(line)[:2] for line in claims} == {(204, True)}
        assert {answer(line)[0] for line in awaits} == {200}
        assert seconds < 3


def test_a_request_under_way_at_the_end_is_answered():
    with serving() as site:
        page = site.telling(site.get, "/slow", seconds=1)
        time.sleep(0.3)

        site.terminate()

        assert page.status == 200


def test_one_command_serves_the_site():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [sys.executable, "manage.py", "serve", "--port", str(port)]
    process = subprocess.Popen(command, cwd=launch.PROJECT, stderr=subprocess.PIPE)
    try:
        until(lambda: _status(port) is not None or process.poll() is not None, 20)
        status = _status(port)
    finally:
        process.terminate()
        _, errors = process.communicate(timeout=10)
    assert status in {200, 302}, errors.decode()
    assert b"Traceback" not in errors
    assert process.returncode == 0


def _status(port):
    try:
        return httpx.get(f"http://127.0.0.1:{port}/admin/").status_code
    except httpx.HTTPError:
        return None


def test_a_server_without_a_database_says_so():
    environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    command = [sys.executable, "-m", "gunicorn", "-c", "config/gunicorn.py"]

    done = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, timeout=20, check=False)

    assert done.returncode != 0
    assert "DATABASE_URL" in done.stderr


def test_a_killed_master_leaves_no_worker_that_holds_its_port():
    with serving() as site:
        site.process.kill()
        site.process.wait()

        until(lambda: _status(site.port) is None, 12)


def test_a_server_process_shares_its_interpreter_in_short_turns(site):
    assert site.get("/turn").json()["seconds"] == pytest.approx(TURN_SECONDS)


def test_what_lives_as_long_as_the_process_is_not_walked_by_the_collector():
    try:
        settle()
        assert gc.get_freeze_count() > 50_000
    finally:
        gc.unfreeze()
