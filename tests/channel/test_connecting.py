"""Who may connect, and how keys end (channel-protocol §1)."""

import json
import time

import pytest
from websockets.exceptions import InvalidStatus

from judging import queue
from judging.errors import RunnerNotApproved
from runners import presence
from runners.models import BearerToken, ChannelKey, Runner
from tests import factories
from tests.channel.conftest import ACCEPTED, OPERATOR, stored


def refusal(hall, runner, **how):
    with pytest.raises(InvalidStatus) as refused:
        hall.connect(runner, **how)
    return refused.value.response


def test_a_key_is_made_as_existing_clients_insist_and_kept_hashed(hall, runner):
    key = hall.keys[runner]

    assert key.startswith("bencher_runner_")
    assert len(key.removeprefix("bencher_runner_")) == 30
    assert key.removeprefix("bencher_runner_").isalnum()
    assert key.encode() not in bytes(ChannelKey.objects.get(runner=runner).digest)


def test_a_runner_may_be_named_by_its_slug(hall, runner):
    assert hall.connect(runner, named="box-1").ask("ready", poll_timeout=1) == {"event": "no_job"}


def test_two_runners_of_one_name_have_two_slugs(hall, runner):
    other = hall.runner(name="box 1")

    assert (Runner.objects.get(id=other).slug or "").startswith("box-1-")


WRONG = {
    "malformed": "bencher_runner_short",
    "unknown": "bencher_runner_" + "x" * 30,
    "without the prefix": "x" * 45,
    "with more behind": "bencher_runner_" + "x" * 31,
    "not even ASCII": "bencher_runner_" + "é" * 30,
}


@pytest.mark.parametrize("key", WRONG.values(), ids=WRONG)
def test_a_wrong_key_is_refused_before_the_upgrade(hall, runner, key):
    answer = refusal(hall, runner, key=key.encode().decode("latin-1"))

    assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")


def test_anothers_key_a_replaced_one_and_a_revoked_runner_are_refused_alike(hall, runner):
    other, revoked = hall.runner(name="box 2"), hall.runner(name="box 3")
    queue.revoke(revoked, by=OPERATOR, reason="stolen")
    old = hall.keys[runner]
    queue.replace_channel_key(runner, by=OPERATOR)

    answers = [refusal(hall, other, key=hall.keys[revoked]), refusal(hall, runner, key=old), refusal(hall, revoked)]

    assert [answer.status_code for answer in answers] == [401, 401, 401]
    assert len({bytes(answer.body) for answer in answers}) == 1


def test_a_pending_runner_gets_no_key(hall):
    with pytest.raises(RunnerNotApproved):
        queue.replace_channel_key(factories.pending_box().id, by=OPERATOR)


def test_who_is_connected_how_and_since_when_is_kept(hall, runner, clock):
    box = factories.box()
    bearer = BearerToken.objects.get(runner=box.id)
    presence.seen(presence.Bearer(box.runner, 60.0, None), address="127.0.0.1")
    first = Runner.objects.get(id=box.id)
    assert (first.transport, bearer.runner_id) == ("rest", box.id)

    clock.forward(seconds=60)
    presence.seen(presence.Bearer(box.runner, 60.0, None), address=None)
    assert Runner.objects.get(id=box.id).connected_since == first.connected_since
    clock.forward(seconds=121)
    presence.seen(presence.Bearer(box.runner, 60.0, None), address=None)
    assert Runner.objects.get(id=box.id).connected_since != first.connected_since

    hall.connect(runner)
    presence.seen(presence.Bearer(Runner.objects.get(id=runner), 60.0, None), address=None)
    assert Runner.objects.get(id=runner).transport == "channel"


def test_too_many_connections_in_a_minute_are_refused_and_only_good_ones_count(hall, runner, clock):
    for _ in range(20):
        refusal(hall, runner, key="bencher_runner_" + "x" * 30)
    for _ in range(16):
        hall.connect(runner).close()

    answer = refusal(hall, runner)

    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "30")
    clock.forward(seconds=61)
    hall.connect(runner)


def test_another_address_is_no_channel(hall, runner):
    answer = refusal(hall, runner, named=f"{runner}/jobs")

    assert answer.status_code == 404


def in_mode(hall, runner, mode):
    wire = hall.connect(runner)
    if mode == "polling":
        wire.say("ready", poll_timeout=60)
        assert wire.is_silent(0.3)
        return wire, None
    return wire, hall.running(wire) if mode == "executing" else None


def revoke(runner):
    queue.revoke(runner, by=OPERATOR, reason="stolen")


def replace(runner):
    queue.replace_channel_key(runner, by=OPERATOR)


@pytest.mark.parametrize("mode", ["idle", "polling", "executing"])
@pytest.mark.parametrize("end", [revoke, replace])
def test_the_end_of_a_key_closes_within_a_second_and_requeues(hall, runner, mode, end):
    wire, job = in_mode(hall, runner, mode)
    began = time.monotonic()

    end(runner)

    assert wire.closed(2) == (1008, '"key_not_valid"')
    assert time.monotonic() - began < 1
    if job is not None:
        assert (stored(job).state, stored(job).deliveries) == ("queued", 1)


def test_a_key_that_ended_ends_nothing_by_its_messages(hall, runner):
    wire = hall.connect(runner)
    job = hall.running(wire)
    Runner.objects.filter(id=runner).update(state="revoked", revoked_at="2026-01-01T00:00:00Z")

    wire.say("completed", job=job, results=ACCEPTED)

    assert wire.closed() == (1008, '"key_not_valid"')
    assert stored(job).outcome is None


def test_what_arrived_before_the_key_ended_stays(hall, runner):
    wire = hall.connect(runner)
    job = hall.running(wire)
    wire.ask("completed", job=job, results=ACCEPTED)

    revoke(runner)

    queue.sweep()
    assert stored(job).state == "completed"


def test_a_retagged_runner_stays_connected(hall, runner):
    wire = hall.connect(runner)
    queue.retag(runner, tags=["finals"])

    assert wire.is_silent()
    assert wire.ask("ready", poll_timeout=1) == {"event": "no_job"}


def test_a_message_that_is_too_long_closes_and_leaves_the_job_to_its_lease(hall, runner):
    wire = hall.connect(runner)
    job = hall.running(wire)

    wire.say("completed", job=job, results=[{"exit_code": 0, "stdout": "x" * (4 * 2**20)}])

    assert wire.closed()[0] == 1009
    assert stored(job).state == "running"


def test_a_message_as_long_as_allowed_is_taken(hall, runner):
    wire = hall.connect(runner)
    job = hall.running(wire)
    frame = len(json.dumps({"event": "completed", "job": str(job), "results": [{"exit_code": 0, "stdout": ""}]}))

    wire.say("completed", job=job, results=[{"exit_code": 0, "stdout": "x" * (4 * 2**20 - frame)}])

    assert wire.hear() == {"event": "ack", "job": str(job)}
