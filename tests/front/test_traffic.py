"""Everything that does not wait: ordinary requests and streams through the front and its threads."""

import http.client
import json
import socket
import time
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.front.conftest import until

MEGABYTE = 2**20


def peak_memory(site):
    """The most memory the worker ever had, in bytes."""
    (worker,) = site.workers()
    lines = Path(f"/proc/{worker}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def threads(site):
    (worker,) = site.workers()
    return len(list(Path(f"/proc/{worker}/task").iterdir()))


def raw(site, request):
    """Send bytes as they are; the status and body of the answer."""
    with socket.create_connection(("127.0.0.1", site.port), timeout=10) as line:
        line.sendall(request)
        response = http.client.HTTPResponse(line)
        response.begin()
        return response.status, response.read()


def test_an_upload_streams_through_without_being_held(site):
    before = peak_memory(site)

    response = site.http.post(f"{site.url}/api/v1/runner/files", content=(bytes(MEGABYTE) for _ in range(64)))
    declared = site.http.post(f"{site.url}/api/v1/runner/files", content=bytes(64 * MEGABYTE))

    assert response.json() == declared.json() == {"size": 64 * MEGABYTE}
    assert peak_memory(site) - before < 24 * MEGABYTE


def test_a_download_streams_to_a_slow_reader_and_stops_when_he_leaves(site):
    before = peak_memory(site)
    with socket.create_connection(("127.0.0.1", site.port)) as line:
        line.sendall(b"GET /api/v1/runner/files/endless HTTP/1.1\r\nHost: x\r\n\r\n")
        assert line.recv(64).startswith(b"HTTP/1.1 200")
        time.sleep(0.3)

    until(lambda: site.count("ended") == 1)
    assert peak_memory(site) - before < 24 * MEGABYTE


def test_a_file_arrives_whole(site):
    assert len(site.get("/api/v1/runner/files/zeros", size=3 * MEGABYTE + 1).content) == 3 * MEGABYTE + 1


def test_an_upload_cut_short_is_an_error_to_the_view(site):
    with socket.create_connection(("127.0.0.1", site.port)) as line:
        line.sendall(b"POST /api/v1/runner/files HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nabc")
        time.sleep(0.2)

    until(lambda: site.count("cut") == 1)


def test_a_refused_upload_is_answered_before_its_body_is_asked_for(site):
    head = b"POST /api/v1/runner/files/refuse HTTP/1.1\r\nHost: x\r\nContent-Length: 999999\r\nExpect: 100-continue\r\n\r\n"

    assert raw(site, head)[0] == 401


def test_a_chunked_body_reaches_the_view(site):
    chunked = b"POST /api/v1/runner/echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n3\r\n, x\r\n0\r\n\r\n"

    status, body = raw(site, chunked)

    assert (status, json.loads(body)["body"]) == (200, "hello, x")


def test_a_header_with_underscores_does_not_pass_for_another(site):
    request = b"POST /api/v1/runner/echo HTTP/1.1\r\nHost: x\r\nX_Role: admin\r\nContent-Length: 0\r\n\r\n"

    assert json.loads(raw(site, request)[1])["spoofed"] is None


def test_the_path_keeps_its_bytes(site):
    assert json.loads(raw(site, b"GET /echo/%D1%91%20%2F HTTP/1.1\r\nHost: x\r\n\r\n")[1])["path"] == "/echo/ё /"
    assert raw(site, b"GET /echo/%FF HTTP/1.1\r\nHost: x\r\n\r\n")[0] == 200


def test_a_head_request_has_no_body(site):
    response = site.http.head(f"{site.url}/api/v1/runner/files/zeros", params={"size": 1000})

    assert (response.status_code, response.headers["content-length"], response.content) == (200, "1000", b"")


@pytest.mark.parametrize("size", [60_000, 200_000])
def test_a_claim_with_a_long_body_is_the_views_to_answer(site, size):
    assert site.claim(note="x" * size).status_code == 204


def test_a_body_too_long_for_django_is_refused_by_django(site):
    assert site.claim(note="x" * 2 * MEGABYTE).status_code == 400


def test_a_stream_is_streamed_though_somebody_asks_it_to_wait(site):
    response = site.get("/api/v1/runner/files/zeros", size=MEGABYTE, waitSeconds=5)

    assert len(response.content) == MEGABYTE


def test_slow_pages_do_not_hold_up_claims(site):
    pages = [site.telling(site.get, "/slow", seconds=1) for _ in range(6)]
    time.sleep(0.1)

    claimed = site.telling(site.claim)

    assert claimed.status == 204
    assert claimed.seconds < 0.5
    assert {page.status for page in pages} == {200}


@pytest.mark.parametrize(("path", "sent"), [("/api/v1/runner/echo", 1), ("/echo/x", 1), ("/echo/x", 2 * MEGABYTE)])
def test_bodies_that_trickle_in_hold_no_threads(site, path, sent):
    lines = [socket.create_connection(("127.0.0.1", site.port)) for _ in range(12)]
    for line in lines:
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {sent + 1}\r\n\r\n"
        line.sendall(head.encode() + bytes(sent))
    time.sleep(0.3)

    claimed, page = site.telling(site.claim), site.telling(site.get, "/slow", seconds=0)

    assert (claimed.status, page.status) == (204, 200)
    assert max(claimed.seconds, page.seconds) < 2
    for line in lines:
        line.close()


ENDLESS = {
    "a header": b"GET /echo/x HTTP/1.1\r\nHost: x\r\nX: ",
    "a line": b"GET /",
    "a trailer": b"POST /echo/x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX: ",
}


@pytest.mark.parametrize("beginning", ENDLESS.values(), ids=ENDLESS)
def test_what_comes_before_or_after_a_body_has_an_end(site, beginning):
    with socket.create_connection(("127.0.0.1", site.port), timeout=10) as line:
        line.sendall(beginning)
        with pytest.raises(ConnectionError):
            line.sendall(b"y" * 64 * MEGABYTE)

    assert site.telling(site.claim).seconds < 2


def test_a_head_of_sixty_kilobytes_is_not_too_long(site):
    assert raw(site, b"GET /echo/x HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 60_000 + b"\r\n\r\n")[0] == 200


def test_a_body_that_trickles_in_is_served_when_it_is_whole(site):
    with socket.create_connection(("127.0.0.1", site.port), timeout=10) as line:
        for part in (b"POST /api/v1/runner/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\nhe", b"llo,", b" x"):
            line.sendall(part)
            time.sleep(0.1)
        response = http.client.HTTPResponse(line)
        response.begin()

        assert json.loads(response.read())["body"] == "hello, x"


def test_many_parked_callers_hold_neither_threads_nor_connections(site):
    lines = [socket.create_connection(("127.0.0.1", site.port)) for _ in range(200)]
    body = b'{"waitSeconds": 60}'
    head = f"POST /api/v1/runner/jobs/claim HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
    for line in lines:
        line.sendall(head.encode() + body)
    until(lambda: site.count("looks") == 200)
    time.sleep(0.2)

    busy = site.sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'site' AND state <> 'idle'")
    kept = site.sql("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'site'")

    assert busy == [(0,)]
    assert kept[0][0] <= 16
    assert threads(site) <= 20
    for line in lines:
        line.close()


def test_there_is_no_channel_yet(site):
    with pytest.raises(InvalidStatus) as refused, connect(f"ws://127.0.0.1:{site.port}/v0/runners/x/channel"):
        pass

    assert refused.value.response.status_code == 404


def test_the_ticker_sweeps_again_and_again_though_a_sweep_fails(site):
    site.sql("INSERT INTO fake_count VALUES ('failing', 1)")

    until(lambda: site.count("sweeps") >= 3)
