"""The three modes of one connection (channel-protocol §3), and how it begins and ends."""

import json
import time
from uuid import UUID

import pytest

from judging import queue
from judging.models import Maintenance
from runners.models import Runner
from tests import factories
from tests.channel.conftest import ACCEPTED, OPERATOR, stored, until

BAD = [
    "no json",
    "[]",
    "{}",
    '{"event": "hello"}',
    '{"event": "ready", "poll_timeout": 0}',
    '{"event": "ready", "poll_timeout": 901}',
    '{"event": "ready", "poll_timeout": "5"}',
    '{"event": "completed", "results": []}',
    '{"event": "completed", "job": null, "results": []}',
    '{"event": "completed", "job": "no id", "results": []}',
    '{"event": "failed", "job": "00000000-0000-7000-8000-000000000000", "results": []}',
    '{"event": "completed", "job": "00000000-0000-7000-8000-000000000000", "results": [{"stdout": ""}]}',
]


@pytest.mark.parametrize("frame", BAD)
def test_idle_a_bad_message_closes(wire, frame):
    wire.send(frame)

    assert wire.closed() == (1007, '"bad_message"')


@pytest.mark.parametrize("frame", BAD[:4])
def test_polling_a_bad_message_is_ignored(hall, wire, frame):
    wire.say("ready", poll_timeout=30)
    wire.send(frame)
    assert wire.is_silent()

    job = hall.submit()

    assert wire.hear()["uuid"] == str(job)


@pytest.mark.parametrize("frame", BAD[:4])
def test_executing_a_bad_message_is_ignored(hall, wire, frame):
    job = hall.running(wire)

    wire.send(frame)

    assert wire.is_silent()
    assert wire.ask("heartbeat") == {"event": "ack", "job": str(job)}


def test_binary_frames_are_ignored_in_every_mode(hall, wire):
    wire.send(b"idle")
    wire.say("ready", poll_timeout=30)
    wire.send(b"polling")
    assert wire.is_silent()
    job = hall.submit()
    assert wire.hear()["uuid"] == str(job)

    wire.send(b"executing")

    assert wire.ask("running") == {"event": "ack", "job": str(job)}


def test_null_for_an_optional_member_reads_as_absent_and_unknown_members_are_ignored(hall, wire):
    job = hall.submit()

    wire.send('{"event": "ready", "poll_timeout": null, "runner": null, "mood": "fine"}')

    assert wire.hear()["uuid"] == str(job)


def test_no_job_comes_when_the_poll_is_over_and_not_before(wire):
    began = time.monotonic()

    assert wire.ask("ready", poll_timeout=1) == {"event": "no_job"}

    assert 0.99 <= time.monotonic() - began < 1.6
    assert wire.ask("ready", poll_timeout=1) == {"event": "no_job"}


def test_polling_ready_running_and_heartbeat_are_ignored(hall, wire):
    wire.say("ready", poll_timeout=30)
    wire.say("ready", poll_timeout=1)
    wire.say("running")
    wire.say("heartbeat")
    assert wire.is_silent(1.3)

    job = hall.submit()

    assert wire.hear()["uuid"] == str(job)


def test_polling_a_terminal_message_is_acknowledged_and_does_not_end_the_poll(hall, wire):
    job = hall.running(wire)
    wire.say("completed", job=job, results=ACCEPTED)
    assert wire.hear()["event"] == "ack"
    wire.say("ready", poll_timeout=30)

    assert wire.ask("completed", job=job, results=ACCEPTED) == {"event": "ack", "job": str(job)}

    second = hall.submit()
    assert wire.hear()["uuid"] == str(second)


def test_executing_ready_is_acknowledged(hall, wire):
    job = hall.running(wire)

    assert wire.ask("ready") == {"event": "ack", "job": str(job)}

    assert wire.ask("heartbeat") == {"event": "ack", "job": str(job)}


def test_idle_signs_of_life_are_ignored_while_nothing_is_held(wire):
    wire.say("heartbeat")
    wire.say("running")

    assert wire.is_silent()
    assert wire.ask("ready", poll_timeout=1) == {"event": "no_job"}


def test_a_finished_run_leaves_the_connection_idle(hall, wire):
    first = hall.running(wire)
    wire.ask("completed", job=first, results=ACCEPTED)

    second = hall.running(wire)

    assert second != first
    wire.send("no json")
    assert wire.is_silent()


def test_executing_a_terminal_message_about_another_job_leaves_the_run_going(hall, wire, clock):
    other = hall.running(wire)
    wire.ask("completed", job=other, results=ACCEPTED)
    job = hall.running(wire)

    assert wire.ask("completed", job=other, results=ACCEPTED) == {"event": "ack", "job": str(other)}

    assert wire.ask("heartbeat") == {"event": "ack", "job": str(job)}


def test_after_a_cancel_the_connection_is_idle_and_its_canceled_is_acknowledged(hall, wire):
    job = hall.running(wire)
    queue.cancel(job, by=OPERATOR, reason="a wrong problem")

    assert wire.ask("heartbeat") == {"event": "cancel"}
    wire.say("heartbeat")
    assert wire.is_silent()
    assert wire.ask("canceled", job=job) == {"event": "ack", "job": str(job)}
    hall.running(wire)


def test_work_reaches_a_poll_at_once(hall, wire):
    wire.say("ready", poll_timeout=30)
    time.sleep(0.3)

    began = time.monotonic()
    job = hall.submit()

    assert wire.hear()["uuid"] == str(job)
    assert time.monotonic() - began < 1


def test_a_poll_gets_what_a_reopened_installation_hands_out(hall, wire):
    queue.switch_maintenance(Maintenance.CLOSED, reason="a new disk")
    job = hall.submit()
    wire.say("ready", poll_timeout=30)
    assert wire.is_silent(0.5)

    queue.switch_maintenance(Maintenance.OPEN)

    assert wire.hear()["uuid"] == str(job)


def test_a_job_frame_says_all_that_existing_clients_insist_on(hall, runner):
    hall.work = factories.work(package=factories.package(), config='{"limits": {"timeMs": 1000}}')
    wire = hall.connect(runner)
    job = hall.submit()

    told = wire.ask("ready")

    assert told["uuid"] == str(job)
    assert told["timeout"] == told["config"]["timeout"] == 3600
    assert told["created"].endswith("Z")
    spec = {name: told["spec"][name] for name in ("name", "slug", "os", "architecture", "sandbox", "cpu", "memory", "disk", "network")}
    assert spec == {
        "name": "default",
        "slug": "default",
        "os": "linux",
        "architecture": "x86_64",
        "sandbox": "firecracker",
        "cpu": 1,
        "memory": 2**30,
        "disk": 2**30,
        "network": False,
    }
    assert UUID(told["spec"]["uuid"])
    assert None not in told["spec"].values()
    assert told["config"]["registry"] == hall.served.http("")
    assert told["config"]["project"] == str(hall.work.problem.id)
    assert told["config"]["digest"].startswith("sha256:")
    assert told["claim"]["jobId"] == str(job)
    assert told["claim"]["leaseToken"] == str(stored(job).token)
    assert told["claim"]["config"] == {"limits": {"timeMs": 1000}}
    assert told["oci_token"].count(".") == 2


def test_what_a_machine_says_of_itself_is_kept(hall, runner, wire):
    machine = {"os": "linux", "arch": "x86_64", "version": "0.6.1", "channel": "canary", "checksum": "ab" * 32}

    wire.ask("ready", poll_timeout=1, runner=machine)

    row = Runner.objects.get(id=runner)
    assert (row.os, row.arch, row.version, row.release_channel, row.checksum) == tuple(machine.values())
    assert row.transport == "channel"
    assert row.connected_since is not None
    wire.close()
    until(lambda: Runner.objects.get(id=runner).transport == "")


def test_a_run_of_half_a_character_is_not_lost(hall, wire):
    job = hall.running(wire)

    results = r'[{"exit_code": 0, "stdout": "{\"verdict\": \"Accepted \ud83d\"}"}]'
    wire.send(f'{{"event": "completed", "job": "{job}", "results": {results}}}')

    assert wire.hear() == {"event": "ack", "job": str(job)}
    until(lambda: stored(job).state == "completed")
    assert stored(job).result.verdict == "Accepted \ufffd"


def test_fragments_make_one_message(hall, wire):
    job = hall.running(wire)
    text = json.dumps({"event": "completed", "job": str(job), "results": ACCEPTED})

    wire.socket.send(text[place : place + 7] for place in range(0, len(text), 7))

    assert wire.hear() == {"event": "ack", "job": str(job)}


def test_a_ping_is_answered_and_none_is_sent(wire):
    assert wire.socket.ping().wait(5)
    assert wire.is_silent()
