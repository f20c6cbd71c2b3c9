"""Clients that know the protocol too well, or not at all: what they cost, what they are told, what the log says of them."""

import json
import signal
import socket
import tracemalloc
from contextlib import ExitStack, suppress
from uuid import uuid4

import pytest
from django.conf import settings
from django.db import connection, transaction
from websockets.exceptions import ConnectionClosed
from websockets.frames import Opcode

from judging import queue
from judging.channel import frames
from judging.files.blobs import local_path
from judging.models import Outcome, Thread
from runners.models import ChannelKey, Runner, Transport
from tests import factories
from tests.channel.conftest import (
    ACCEPTED,
    OPERATOR,
    Hall,
    frame,
    handshake,
    is_quiet,
    lines_at,
    memory,
    opening,
    serving,
    stored,
    until,
    workers,
)
from tests.channel.test_recovery import at_once
from tests.locks import until_waiting

MEGABYTE = 2**20
LONGEST = 4 * MEGABYTE
UPGRADE = b"Host: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
VERSION = b"Sec-WebSocket-Version: 13\r\n"
KEY = b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"


@pytest.fixture(scope="module")
def besieged(movable_clock, tmp_path_factory):
    """A server with a log of its own."""
    with serving(log=tmp_path_factory.mktemp("besieged") / "log", ASSIZE_CHANNEL_ATTEMPTS="100000") as site:
        until(lambda: "Application startup complete" in site.logged, 30)
        yield site


@pytest.fixture
def hall(besieged, clock):
    """A hall on that server, which must not have had to write a traceback."""
    with ExitStack() as lines:
        yield Hall(besieged, factories.work(), lines)
    until(is_quiet)
    assert "Traceback" not in besieged.logged


def head(*lines: bytes, path: bytes = b"/v0/runners/x/channel", method: bytes = b"GET", body: bytes = b"") -> bytes:
    return method + b" " + path + b" HTTP/1.1\r\n" + UPGRADE + b"".join(lines) + b"\r\n" + body


HEADS = {
    "no key": (head(VERSION), 400),
    "a key that is none": (head(VERSION, b"Sec-WebSocket-Key: ?\r\n"), 400),
    "two keys": (head(VERSION, KEY, KEY), 400),
    "another version": (head(b"Sec-WebSocket-Version: 8\r\n", KEY), 400),
    "a POST": (head(VERSION, KEY, method=b"POST"), 405),
    "a body": (head(VERSION, KEY, b"Content-Length: 5\r\n", body=b"hello"), 400),
    "a body in chunks": (head(VERSION, KEY, b"Transfer-Encoding: chunked\r\n", body=b"0\r\n\r\n"), 400),
    "a thousand headers": (head(VERSION, KEY, *(b"X-%d: y\r\n" % n for n in range(1000))), 431),
    "a long header": (head(VERSION, KEY, b"X-Long: " + b"y" * 20_000 + b"\r\n"), 431),
    "a long path": (head(VERSION, KEY, path=b"/v0/runners/" + b"x" * 20_000 + b"/channel"), 414),
    "a path of odd bytes": (head(VERSION, KEY, path=b"/v0/runners/%00%ff/channel"), 404),
    "a path that is no ASCII": (head(VERSION, KEY, path="/v0/runners/é/channel".encode()), 400),
    "headers of odd bytes": (head(VERSION, KEY, b"X-Odd: \xc3\xa9\xff\r\n", b"Authorization: Bearer \xff\xfe\r\n"), 401),
    "a protocol of odd bytes": (head(VERSION, KEY, b"Sec-WebSocket-Protocol: \xff\r\n"), 400),
}


@pytest.mark.parametrize(("sent", "status"), HEADS.values(), ids=HEADS)
def test_an_odd_request_is_answered_and_the_line_is_closed(hall, besieged, sent, status):
    with socket.create_connection(("127.0.0.1", besieged.port), timeout=10) as line:
        line.sendall(sent)
        told = b""
        while block := line.recv(65536):
            told += block

    assert told.startswith(b"HTTP/1.1 %d " % status)


def test_connections_and_their_ends_write_nothing_into_the_log(hall, besieged):
    """Or anybody could fill the disk, in words of his own."""
    runner = hall.runner()
    before = besieged.logged
    for bad in (frame(Opcode.TEXT, b"\xff\xfe") * 3, frame(Opcode.CONT, b"x"), b"\x81\x05hello", frame(Opcode.TEXT, b"no JSON")):
        with handshake(hall, runner) as line:
            line.sendall(bad)
            line.settimeout(10)
            assert line.recv(2)[0] == 0x88  # a close frame
    with socket.create_connection(("127.0.0.1", besieged.port), timeout=10) as line:
        line.sendall(head(VERSION, KEY, path=b"/v0/runners/A%0AB/channel"))
        assert line.recv(100)

    assert besieged.logged == before


def test_pongs_that_nobody_takes_do_not_pile_up(hall, besieged):
    (worker,) = workers(besieged)
    before = memory(worker)
    with handshake(hall, hall.runner()) as line:
        line.settimeout(2)
        pings = frame(Opcode.PING, b"x" * 125) * 1000
        sent = 0
        with suppress(TimeoutError):
            while sent < 64 * MEGABYTE:
                sent += line.send(pings)

        assert sent < 64 * MEGABYTE, "the server reads on, whatever it has to keep"
        assert memory(worker) - before < 24 * MEGABYTE


def test_a_message_in_tiny_pieces_takes_no_more_than_its_length(hall, besieged):
    (worker,) = workers(besieged)
    runner = hall.runner()
    with handshake(hall, runner) as line:
        line.sendall(frame(Opcode.TEXT, b"[", fin=False))
        pieces = frame(Opcode.CONT, b"  ", fin=False) * 10_000
        line.sendall(pieces * 5)
        before = memory(worker)
        line.sendall(pieces * 25)
        line.sendall(frame(Opcode.PING, b"read so far"))
        line.settimeout(60)
        assert line.recv(100).endswith(b"read so far")

        assert memory(worker) - before < 8 * MEGABYTE


@pytest.mark.parametrize("bad", ['{"event":"heartbeat","x":[' + "{}," * (LONGEST // 4) + "?", "[" * LONGEST, "\\" * LONGEST, " " * LONGEST])
def test_a_long_message_that_is_malformed_is_found_so_without_being_built(bad):
    tracemalloc.start()
    try:
        assert frames.read(bad) is None
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 3 * LONGEST


def test_half_a_character_is_told_from_a_whole_one_and_from_a_backslash():
    said = {
        r"\ud83d\ude00": "\U0001f600",
        r"\ud83d": "\ufffd",
        r"\ude00\ud83d": "\ufffd\ufffd",
        r"\\ud83d \ud83d": "\\ud83d \ufffd",
        r"\\\ud83d": "\\\ufffd",
        r"\uD83D\\ude00": "\ufffd\\ude00",
        r"\ud83d\ud83d\ude00": "\ufffd\U0001f600",
    }
    for written, meant in said.items():
        read = frames.read(f'{{"event": "failed", "job": "{uuid4()}", "results": [], "error": "{written}"}}')

        assert isinstance(read, frames.Failed)
        assert read.error == meant, written


def test_a_thousand_messages_at_once_are_answered_one_by_one_while_others_are_served(hall):
    bystander = hall.connect(hall.runner())
    job = hall.running(bystander)
    hasty = hall.connect(hall.runner())
    unknown = [uuid4() for _ in range(1000)]

    for one in unknown:
        hasty.say("canceled", job=one)
    assert bystander.ask("heartbeat") == {"event": "ack", "job": str(job)}

    assert [hasty.hear(30) for _ in unknown] == [{"event": "ack", "job": str(one)} for one in unknown]
    assert hasty.is_silent(0.1)


def test_a_message_that_waits_when_the_server_is_stopped_is_kept_and_acknowledged(movable_clock, clock):
    with serving() as site, ExitStack() as lines:
        hall = Hall(site, factories.work(), lines)
        wire = hall.connect(hall.runner())
        job = hall.running(wire)
        with transaction.atomic():
            list(Thread.objects.select_for_update(no_key=True).filter(jobs=job))
            wire.say("completed", job=job, results=ACCEPTED)
            until_waiting(1)
            site.process.send_signal(signal.SIGTERM)
            until(lambda: not listens(site))

        assert wire.hear() == {"event": "ack", "job": str(job)}
        assert wire.closed()[0] == 1001
        site.process.wait(15)
        assert stored(job).state == "completed"
        assert Outcome.objects.filter(job=job).count() == 1


def listens(site) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", site.port)) == 0


def test_who_connects_while_the_server_is_stopped_is_sent_away_and_not_told_of_an_error(movable_clock, clock):
    with serving() as site, ExitStack() as lines:
        hall = Hall(site, factories.work(), lines)
        runner = hall.runner()
        with socket.create_connection(("127.0.0.1", site.port), timeout=10) as line:
            with transaction.atomic():
                list(ChannelKey.objects.select_for_update().filter(runner=runner))
                line.sendall(opening(hall, runner))
                until_waiting(1)
                site.process.send_signal(signal.SIGTERM)
                until(lambda: not listens(site))
            told = b""
            while block := line.recv(1024):
                told += block

    assert told.startswith(b"HTTP/1.1 101")
    assert told.endswith(b"\x88\x02\x03\xe9")  # 1001


def test_a_client_that_takes_nothing_does_not_keep_a_stopping_server(movable_clock, clock, tmp_path):
    with serving(log=tmp_path / "log") as site, ExitStack() as lines:
        hall = Hall(site, factories.work(), lines)
        with handshake(hall, hall.runner()) as line:
            line.settimeout(2)
            with suppress(TimeoutError):
                while True:
                    line.send(frame(Opcode.PING, b"x" * 125) * 1000)

            site.terminate()

    assert "timeout graceful shutdown exceeded" not in site.logged


def test_a_message_whose_database_session_is_ended_is_not_acknowledged_and_is_taken_again(hall):
    runner = hall.runner()
    wire = hall.connect(runner)
    job = hall.running(wire)
    with transaction.atomic():
        list(Thread.objects.select_for_update(no_key=True).filter(jobs=job))
        wire.say("completed", job=job, results=ACCEPTED)
        until_waiting(1)
        with connection.cursor() as cursor:
            waiting = "datname = current_database() AND pid <> pg_backend_pid() AND wait_event_type = 'Lock'"
            cursor.execute(f"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE {waiting}")
            assert cursor.fetchone() == (1,)

    assert wire.closed() == (1013, '"try_again"')
    assert stored(job).outcome is None
    again = hall.connect(runner)
    assert again.ask("completed", job=job, results=ACCEPTED) == {"event": "ack", "job": str(job)}
    until(lambda: stored(job).state == "completed")
    assert Outcome.objects.filter(job=job).count() == 1


def test_an_output_that_cannot_be_kept_is_not_acknowledged_and_is_taken_again(served, clock):
    with ExitStack() as lines:
        hall = Hall(served, factories.work(), lines)
        runner = hall.runner()
        wire = hall.connect(runner)
        job = hall.running(wire)
        place = local_path(str(hall.work.problem.id))
        assert place is not None
        place.write_bytes(b"in the way of the folder")

        for event, more in (("completed", {}), ("failed", {"error": "out of paper"})):
            wire.say(event, job=job, results=ACCEPTED, **more)
            assert wire.closed() == (1013, '"try_again"')
            assert stored(job).state == "running"
            wire = hall.connect(runner)

        place.unlink()
        assert wire.ask("completed", job=job, results=ACCEPTED) == {"event": "ack", "job": str(job)}
        until(lambda: stored(job).state == "completed")
    until(is_quiet)


def test_a_result_before_the_replacement_of_its_key_counts(hall):
    wire = hall.connect(runner := hall.runner())
    job = hall.running(wire)

    at_once(job, lambda: wire.say("completed", job=job, results=ACCEPTED), lambda: queue.replace_channel_key(runner, by=OPERATOR))

    assert wire.closed() == (1008, '"key_not_valid"')
    until(lambda: stored(job).state == "completed")
    assert stored(job).fence == 1


def test_of_two_connections_under_one_key_each_counts_as_one_and_one_job_is_handed_to_one(hall):
    runner = hall.runner()
    wires = [hall.connect(runner) for _ in range(2)]
    for wire in wires:
        wire.say("ready", poll_timeout=2)
    until(lambda: Runner.objects.get(id=runner).transport == Transport.CHANNEL)

    job = hall.submit()

    told = sorted((wire.hear() for wire in wires), key=lambda frame: frame["event"])
    assert [frame["event"] for frame in told] == ["job", "no_job"]
    assert told[0]["uuid"] == str(job)
    assert stored(job).fence == 1


def test_the_older_of_two_connections_still_shows_its_runner_connected(hall, clock):
    runner = hall.runner()
    older, newer = hall.connect(runner), hall.connect(runner)
    newer.close()
    until(lambda: Runner.objects.get(id=runner).transport == Transport.NONE)

    clock.forward(seconds=settings.LIMITS.seen_every.total_seconds() + 1)
    older.say("canceled", job=uuid4())
    older.hear()

    assert Runner.objects.get(id=runner).transport == Transport.CHANNEL


def test_a_storm_of_connections_leaves_nothing_behind(hall, besieged):
    runner = hall.runner()
    job = hall.running(hall.connect(runner))
    before = lines_at(besieged.port)

    for _ in range(100):
        with handshake(hall, runner) as line:
            line.sendall(frame(Opcode.TEXT, b'{"event": "heartbeat"}'))

    until(lambda: lines_at(besieged.port) <= before)
    assert hall.connect(runner).ask("heartbeat") == {"event": "ack", "job": str(job)}
    assert (stored(job).state, stored(job).fence) == ("running", 1)


def test_work_in_other_hands_is_looked_for_again_soon_though_nobody_tells(hall):
    wire = hall.connect(hall.runner())
    job = hall.submit()
    with transaction.atomic():
        list(Thread.objects.select_for_update(no_key=True).filter(jobs=job))
        wire.say("ready", poll_timeout=60)
        assert wire.is_silent(0.5)

    # Sooner than a poll looks again by itself, which takes it twenty seconds.
    assert wire.hear(10)["uuid"] == str(job)


FAREWELLS = {
    "a reason": b"\x88\x85\x00\x00\x00\x00\x03\xe8bye",
    "nothing": b"\x88\x80\x00\x00\x00\x00",
    "half a code": b"\x88\x81\x00\x00\x00\x00\x03",
    "no such code": b"\x88\x82\x00\x00\x00\x00\x00\x01",
    "a reason that is no UTF-8": b"\x88\x83\x00\x00\x00\x00\x03\xe8\xff",
    "a ping that is too long": b"\x89\xfe\x00\x7e\x00\x00\x00\x00" + b"x" * 126,
    "a ping in pieces": b"\x09\x81\x00\x00\x00\x00x",
}


@pytest.mark.parametrize("farewell", FAREWELLS.values(), ids=FAREWELLS)
def test_a_farewell_of_any_kind_ends_a_poll_and_leaves_nothing(hall, besieged, farewell):
    before = besieged.logged
    with handshake(hall, hall.runner()) as line:
        line.settimeout(15)
        line.sendall(frame(Opcode.TEXT, b'{"event": "ready", "poll_timeout": 60}') + farewell + b"garbage" * 100)
        told = line.recv(1000)
        while line.recv(1000):
            continue

    assert told[0] == 0x88
    until(lambda: not lines_at(besieged.port))
    until(is_quiet)
    assert besieged.logged == before


def test_a_line_that_is_closed_on_one_side_is_taken_for_a_hang_up_and_loses_no_work(hall, besieged):
    job = hall.submit()
    with handshake(hall, hall.runner()) as line:
        line.settimeout(15)
        line.sendall(frame(Opcode.TEXT, b'{"event": "ready", "poll_timeout": 60}'))
        line.shutdown(socket.SHUT_WR)
        while line.recv(1000):
            continue

    until(lambda: stored(job).state == "queued" or stored(job).heard)
    if stored(job).state == "queued":
        assert hall.connect(hall.runner()).ask("ready")["uuid"] == str(job)


def test_numbers_and_names_that_are_none_change_nothing(hall):
    wire = hall.connect(hall.runner())
    job = hall.running(wire)
    results = json.dumps(ACCEPTED)
    for bad in (
        '{"event": "heartbeat", "x": NaN}',
        '{"event": "heartbeat", "event": "nonsense"}',
        f'{{"event": "completed", "job": "{job}", "results": [{{"exit_code": 1e400}}]}}',
        f'{{"event": "completed", "job": "{job}", "results": [{{"exit_code": {"9" * 5000}}}]}}',
        f'{{"event": "completed", "job": "{job}", "results": [{{"exit_code": true}}]}}',
        f'{{"event": "completed", "job": "{{{job}}}", "results": {results}}}',
        f'{{"event": "completed", "job": "{job}", "results": {results}}} more',
        f'\ufeff{{"event": "completed", "job": "{job}", "results": {results}}}',
    ):
        wire.send(bad)
    assert wire.ask("heartbeat") == {"event": "ack", "job": str(job)}
    assert stored(job).state == "running"


def test_what_a_run_says_may_hold_any_character(hall):
    wire = hall.connect(hall.runner())
    job = hall.running(wire)

    told = wire.ask("failed", job=job, results=[{"exit_code": 0, "output": {"\x00": "\x00\ud800"}}], error="\x00\ud800 out of paper")

    assert told == {"event": "ack", "job": str(job)}
    assert stored(job).reason == "\ufffd\ufffd out of paper"


def test_a_machine_of_odd_names_is_kept_as_it_can_be(hall):
    runner = hall.runner()
    wire = hall.connect(runner)

    with suppress(ConnectionClosed):
        wire.ask("ready", poll_timeout=1, runner={"os": "\x00" * 50, "arch": "\ud83d" * 50, "version": "9" * 500, "checksum": "x" * 500})

    row = Runner.objects.get(id=runner)
    assert (row.os, row.arch, len(row.version), len(row.checksum)) == ("\ufffd" * 32, "\ufffd" * 32, 64, 128)
