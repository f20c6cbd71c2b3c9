"""Bytes nobody should send, and runners that take nothing: no error, no leak, nobody else the worse for it."""

import random
import socket
import time
from contextlib import ExitStack

import pytest
from django.db import connection
from websockets.exceptions import ConnectionClosed
from websockets.frames import Opcode

from tests import factories
from tests.channel.conftest import ACCEPTED, Hall, Wire, frame, handshake, is_quiet, lines_at, memory, serving, stored, until, workers


def raw(wire: Wire, data: bytes) -> None:
    """Bytes past the client's own manners."""
    wire.socket.socket.sendall(data)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (frame(Opcode.TEXT, b"\xff\xfe"), 1007),
        (frame(Opcode.CONT, b"no beginning"), 1002),
        (frame(Opcode.TEXT, b"{", fin=False) + frame(Opcode.TEXT, b"}"), 1002),
        (b"\x81\x05hello", 1002),
        (b"\xf1\x80\x00\x00\x00\x00", 1002),
        (b"\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00", 1009),
    ],
    ids=["invalid UTF-8", "a stray fragment", "a message in a message", "unmasked", "reserved bits", "eight exbibytes"],
)
def test_what_breaks_the_protocol_closes_with_its_code(hall, wire, data, code):
    job = hall.running(wire)

    raw(wire, data)

    assert wire.closed()[0] == code
    assert stored(job).state == "running"


def test_sixteen_mebibytes_in_fragments_are_too_much(hall, wire):
    hall.running(wire)
    piece = bytes(2**20)
    try:
        raw(wire, frame(Opcode.TEXT, piece, fin=False))
        for _ in range(15):
            raw(wire, frame(Opcode.CONT, piece, fin=False))
    except OSError:
        pass

    assert wire.closed()[0] == 1009


def test_depth_is_no_way_in(hall, wire):
    job = hall.running(wire)
    wire.send('{"event": "completed", "x": ' + "[" * 200_000)
    wire.send('{"event": "heartbeat", "x": ' + "[" * 100_000 + "]" * 100_000 + "}")
    assert wire.is_silent()

    assert wire.ask("heartbeat") == {"event": "ack", "job": str(job)}


def rubbish(random_: random.Random) -> str | bytes:
    """One message of any kind."""
    members = [
        '"event"',
        '"job"',
        '"results"',
        '"error"',
        '"poll_timeout"',
        "null",
        "1e999",
        "{}",
        "[]",
        '"\\ud800"',
        '"ready"',
        '"heartbeat"',
    ]
    match random_.randrange(5):
        case 0:
            return bytes(random_.randrange(256) for _ in range(random_.randrange(200)))
        case 1:
            return "".join(chr(random_.randrange(1, 0xD7FF)) for _ in range(random_.randrange(200)))
        case 2:
            return "{" + ",".join(f"{random_.choice(members)}:{random_.choice(members)}" for _ in range(4)) + "}"
        case 3:
            event, rest = random_.choice(["heartbeat", "running", "ready", "x"]), random_.choice(["}", "", ', "job": 5}'])
            return f'{{"event": "{event}"{rest}'
        case _:
            return f'{{"event": "completed", "job": "00000000-0000-7000-8000-{random_.randrange(2**48):012x}", "results": []}}'


@pytest.mark.parametrize("seed", range(4))
def test_random_messages_harm_nobody(hall, served, seed):
    """In every mode, while another runner works: whatever is said is answered by the protocol's own words, or by its close."""
    random_ = random.Random(seed)
    bystander = hall.connect(hall.runner())
    job = hall.running(bystander)
    before = lines_at(served.port)
    hostile = hall.runner()
    for _ in range(6):
        wire = hall.connect(hostile)
        for _ in range(30):
            wire.send(rubbish(random_))
        heard = drained(wire)
        assert {told["event"] for told in heard} <= {"ack", "cancel", "job", "no_job"}
        wire.close()
        assert bystander.ask("heartbeat") == {"event": "ack", "job": str(job)}
    until(lambda: lines_at(served.port) <= before)
    bystander.ask("completed", job=job, results=ACCEPTED)
    until(lambda: stored(job).state == "completed")


def drained(wire):
    heard = []
    try:
        while True:
            heard.append(wire.hear(0.05))
    except (TimeoutError, ConnectionClosed):
        return heard


def test_a_runner_that_reads_nothing_holds_up_nobody(hall, served):
    bystander = hall.connect(hall.runner())
    job = hall.running(bystander)
    deaf = hall.connect(hall.runner())
    deaf.socket.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    hall.running(deaf)
    # Past the client, whose own thread reads.
    heartbeat = frame(Opcode.TEXT, b'{"event": "heartbeat"}')
    for _ in range(50):
        raw(deaf, heartbeat * 10)
        began = time.monotonic()
        assert bystander.ask("heartbeat") == {"event": "ack", "job": str(job)}
        assert time.monotonic() - began < 2


def test_lines_cut_in_the_middle_of_anything_leave_nothing_behind(hall, served):
    runner = hall.runner()
    until(is_quiet)
    before = lines_at(served.port)
    for cut in range(10):
        wire = hall.connect(runner)
        if cut % 3 == 0:
            wire.say("ready", poll_timeout=60)
        if cut % 3 == 1:
            raw(wire, b"\x81\xfe\x10\x00\x00\x00\x00\x00half a frame")
        wire.drop()

    until(lambda: lines_at(served.port) <= before)
    until(is_quiet)


@pytest.mark.slow
def test_a_thousand_idle_channels_cost_little_and_hold_nothing(movable_clock, clock):
    """Memory each, no database connection, and a job reaches the right one of them, long before a poll looks by itself.

    How soon, and how much exactly, is for `manage.py bench channels` to say.
    """
    many = 1000
    with serving(ASSIZE_CHANNEL_ATTEMPTS="100000") as site, ExitStack() as lines:
        hall = Hall(site, factories.work(), lines)
        crowd = hall.runner(problem_types=("other@1",))
        runner = hall.runner()
        for _ in range(20):
            hall.connect(crowd)
        before = memory(*workers(site))
        opened = [handshake(hall, crowd) for _ in range(many)]
        for line in opened:
            line.sendall(frame(Opcode.TEXT, b'{"event": "ready", "poll_timeout": 900}'))
        wire = hall.connect(runner)
        wire.say("ready", poll_timeout=900)
        until(lambda: is_quiet_for(1.0), 60)
        each = (memory(*workers(site)) - before) / many

        job = hall.submit()
        assert wire.hear()["uuid"] == str(job)

        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'")
            assert cursor.fetchone()[0] == 0
        assert each < 64 * 1024
        assert not any(readable(line) for line in opened)
        for line in opened:
            line.close()


def readable(line: socket.socket) -> bool:
    """Whether anything was told on it."""
    line.setblocking(False)
    try:
        line.recv(1)
    except BlockingIOError:
        return False
    return True


def is_quiet_for(seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not is_quiet():
            return False
        time.sleep(0.05)
    return True
