"""Silence, cut lines, restarts, and the races between them (channel-protocol §4 and §7)."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from django.db import connection, connections, transaction

from judging import queue
from judging.channel import frames, outputs
from judging.models import Outcome, Problem, Thread
from runners.models import Runner
from tests import factories
from tests.channel.conftest import ACCEPTED, OPERATOR, Hall, is_quiet, outcome_of, serving, stored, until
from tests.locks import until_waiting

LAPSED = 101


@pytest.fixture(scope="module")
def impatient(movable_clock):
    """A server that gives a silent runner one second."""
    with serving(ASSIZE_HEARTBEAT_SECONDS="1") as site:
        yield site


@pytest.fixture
def hasty(impatient, clock):
    """A hall on the impatient server."""
    with ExitStack() as lines:
        yield Hall(impatient, factories.work(), lines)
    until(is_quiet)


def reconnected(hall, runner, wire):
    wire.drop()
    return hall.connect(runner)


@pytest.mark.parametrize("sign", ["heartbeat", "running"])
def test_a_cut_run_goes_on_over_the_next_connection(hall, runner, sign):
    job = hall.running(hall.connect(runner))
    started = stored(job).started_at

    wire = reconnected(hall, runner, hall.connect(runner))

    assert wire.ask(sign) == {"event": "ack", "job": str(job)}
    assert stored(job).started_at == started
    assert wire.ask("completed", job=job, results=ACCEPTED) == {"event": "ack", "job": str(job)}
    until(lambda: stored(job).state == "completed")


def test_a_run_that_had_not_begun_begins_on_the_next_connection(hall, runner):
    first = hall.connect(runner)
    job = hall.claimed(first)

    wire = reconnected(hall, runner, first)

    assert wire.ask("running") == {"event": "ack", "job": str(job)}
    assert stored(job).started_at is not None


def test_the_older_connection_of_a_run_is_closed_when_it_goes_on_elsewhere(hall, runner):
    first, second = hall.connect(runner), hall.connect(runner)
    job = hall.running(first)

    assert second.ask("heartbeat") == {"event": "ack", "job": str(job)}

    assert first.closed(2) == (1000, '"resumed elsewhere"')
    assert second.ask("heartbeat") == {"event": "ack", "job": str(job)}


def test_nothing_is_resumed_while_two_runs_are_held(hall, runner):
    first, second, third = (hall.connect(runner) for _ in range(3))
    hall.running(first)
    hall.running(second)

    third.say("heartbeat")

    assert third.is_silent()


def test_a_job_claimed_over_rest_is_not_resumed_on_the_channel(hall, runner, wire):
    hall.submit()
    queue.claim(runner)

    wire.say("heartbeat")

    assert wire.is_silent()


@pytest.mark.parametrize("sign", ["heartbeat", "running"])
def test_a_job_cancelled_while_the_line_was_down_is_told_to_the_first_sign_of_life(hall, runner, sign):
    first = hall.connect(runner)
    job = hall.running(first)
    first.drop()
    queue.cancel(job, by=OPERATOR, reason="a wrong problem")

    wire = hall.connect(runner)

    assert wire.ask(sign) == {"event": "cancel"}
    wire.say(sign)
    assert wire.is_silent()


def test_a_job_requeued_while_the_line_was_down_is_told_too(hall, runner, clock):
    first = hall.connect(runner)
    job = hall.running(first)
    first.drop()
    clock.forward(seconds=LAPSED)
    queue.sweep()
    assert stored(job).state == "queued"

    assert hall.connect(runner).ask("heartbeat") == {"event": "cancel"}


def test_a_result_whose_ack_was_lost_is_sent_again_before_the_next_job(hall, runner):
    first = hall.connect(runner)
    job = hall.running(first)
    first.say("completed", job=job, results=ACCEPTED)
    first.drop()
    until(lambda: stored(job).state == "completed")

    wire = hall.connect(runner)

    assert wire.ask("completed", job=job, results=ACCEPTED) == {"event": "ack", "job": str(job)}
    assert Outcome.objects.filter(job=job).count() == 1
    hall.running(wire)


def test_a_silent_runner_loses_its_job_and_its_connection(hasty):
    runner = hasty.runner()
    wire = hasty.connect(runner)
    job = hasty.running(wire)
    began = time.monotonic()

    assert wire.closed(3) == (1000, '"heartbeat_timeout"')

    assert 0.9 < time.monotonic() - began < 1.8
    row = stored(job)
    assert (row.state, row.reason, row.deliveries) == ("queued", "contact with the runner was lost", 1)


def test_a_silent_runner_of_a_job_at_its_cap_fails_it_and_may_still_deliver(hasty):
    hasty.work = factories.work(cap=1)
    runner = hasty.runner()
    wire = hasty.connect(runner)
    job = hasty.running(wire)
    wire.closed(3)
    assert stored(job).state == "failed"

    hasty.connect(runner).ask("completed", job=job, results=ACCEPTED)

    until(lambda: stored(job).state == "completed")


def test_a_silent_runner_over_its_limit_is_cancelled(hasty, clock):
    runner = hasty.runner()
    wire = hasty.connect(runner)
    job = hasty.running(wire)
    # Not the clock, which would let the lease lapse before the limit: the limit itself is made to have been reached.
    backdate(job, seconds=3661)

    assert wire.closed(3) == (1000, '"job_timeout_exceeded"')

    assert stored(job).state == "cancelled"


def backdate(job, *, seconds):
    """Let a run have begun earlier, past the triggers that forbid it."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute("UPDATE judging_job SET started_at = started_at - make_interval(secs => %s) WHERE id = %s", [seconds, job])


@pytest.mark.parametrize("pause", [0.2, 0.0])
def test_what_is_no_valid_message_does_not_count_as_a_sign_of_life(hasty, pause):
    wire = hasty.connect(hasty.runner())
    hasty.running(wire)
    stop = threading.Event()

    def chatter():
        while not stop.wait(pause):
            wire.send("no json")
            wire.send(b"binary")
            wire.say("ready")

    talking = threading.Thread(target=chatter)
    talking.start()
    try:
        assert wire.closed(3) == (1000, '"heartbeat_timeout"')
    finally:
        stop.set()
        talking.join()


def test_heartbeats_keep_a_run_for_as_long_as_they_come(hasty):
    wire = hasty.connect(hasty.runner())
    job = hasty.running(wire)

    for _ in range(8):
        time.sleep(0.4)
        assert wire.ask("heartbeat")["event"] == "ack"
        queue.sweep()

    assert (stored(job).state, stored(job).fence) == ("running", 1)


def test_the_silence_of_an_older_connection_means_nothing_while_a_newer_one_speaks(hasty):
    runner = hasty.runner()
    first, second = hasty.connect(runner), hasty.connect(runner)
    job = hasty.running(first)

    for _ in range(6):
        assert second.ask("heartbeat") == {"event": "ack", "job": str(job)}
        time.sleep(0.3)

    assert (stored(job).state, stored(job).fence) == ("running", 1)


def test_a_cut_run_that_nobody_takes_up_ends_with_its_lease(hall, runner, clock):
    wire = hall.connect(runner)
    job = hall.running(wire)
    wire.drop()
    queue.sweep()
    assert stored(job).state == "running"

    clock.forward(seconds=LAPSED)
    queue.sweep()

    assert (stored(job).state, stored(job).reason) == ("queued", "contact with the runner was lost")


def test_at_its_end_the_server_says_that_it_goes_and_held_jobs_keep_their_lease(movable_clock, clock):
    with serving() as site, ExitStack() as lines:
        hall = Hall(site, factories.work(), lines)
        executing, polling, idle = (hall.connect(hall.runner()) for _ in range(3))
        job = hall.running(executing)
        polling.say("ready", poll_timeout=60)
        assert polling.is_silent(0.2)

        seconds = site.terminate()

        assert [wire.closed()[0] for wire in (executing, polling, idle)] == [1001, 1001, 1001]
        assert seconds < 3
        assert (stored(job).state, stored(job).fence) == ("running", 1)


def test_a_run_survives_the_death_of_its_server(movable_clock, clock):
    with serving() as site, ExitStack() as lines:
        hall = Hall(site, factories.work(), lines)
        runner = hall.runner()
        job = hall.running(hall.connect(runner))
        site.kill()
    with serving() as site, ExitStack() as lines:
        again = Hall(site, hall.work, lines, keys=hall.keys)
        wire = again.connect(runner)

        assert wire.ask("heartbeat") == {"event": "ack", "job": str(job)}
        wire.ask("completed", job=job, results=ACCEPTED)

    assert stored(job).state == "completed"


def test_the_sweep_processes_what_was_stored_and_not_processed(hall, runner, clock):
    job = hall.running(hall.connect(runner))
    output = frames.document([frames.Iteration(0, '{"verdict": "Accepted"}')])
    queue.finish(job, runner=runner, token=None, output=output)
    queue.sweep()
    assert stored(job).outcome is not None

    clock.forward(seconds=LAPSED)
    swept = queue.sweep()

    assert (swept.processed, swept.lapsed) == (1, 0)
    assert (stored(job).state, stored(job).result.verdict) == ("completed", "Accepted")


def test_an_outcome_whose_document_is_gone_fails_its_job(hall, runner):
    job = hall.running(hall.connect(runner))
    outcome = outcome_of(job, runner, b'{"results":[]}')
    outputs.remove(hall.work.problem.id, job)

    queue.process(outcome)

    assert (stored(job).state, stored(job).reason) == ("failed", "the output makes no result: the output document is gone")


def at_once(job, *acts):
    """Let these acts meet at the job's lock, and pass in this order."""

    def run(act):
        try:
            return act()
        except Exception as error:
            return error
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(acts)) as pool:
        with transaction.atomic():
            list(Thread.objects.select_for_update(no_key=True).filter(jobs=job))
            futures = []
            for n, act in enumerate(acts, start=1):
                futures.append(pool.submit(run, act))
                until_waiting(n)
        return [future.result(30) for future in futures]


def test_cancel_before_completed_drops_the_outcome(hall, wire):
    job = hall.running(wire)

    _, told = at_once(
        job,
        lambda: queue.cancel(job, by=OPERATOR, reason="a wrong problem"),
        lambda: wire.ask("completed", job=job, results=ACCEPTED),
    )

    assert told == {"event": "ack", "job": str(job)}
    assert stored(job).state == "cancelled"


def test_completed_before_cancel_keeps_the_outcome(hall, wire):
    job = hall.running(wire)

    told, refused = at_once(
        job,
        lambda: wire.ask("completed", job=job, results=ACCEPTED),
        lambda: queue.cancel(job, by=OPERATOR, reason="a wrong problem"),
    )

    assert told == {"event": "ack", "job": str(job)}
    assert getattr(refused, "code", None) == "job.state"
    until(lambda: stored(job).state == "completed")


def test_the_end_of_a_lease_before_completed_is_overridden_only_at_the_cap(hall, runner, clock):
    for cap, left in ((1, "completed"), (5, "queued")):
        hall.work = factories.work(cap=cap)
        wire = hall.connect(runner)
        job = hall.running(wire)
        clock.forward(seconds=LAPSED)

        token = stored(job).token
        at_once(
            job,
            lambda job=job, token=token: queue.lose(job, token=token),
            lambda wire=wire, job=job: wire.ask("completed", job=job, results=ACCEPTED),
        )
        until(lambda job=job, left=left: stored(job).state == left)


def test_completed_before_the_end_of_a_lease_is_kept(hall, wire, clock):
    job = hall.running(wire)
    clock.forward(seconds=LAPSED)

    wire.ask("completed", job=job, results=ACCEPTED)
    queue.sweep()

    # The server makes the result after its answer, and a sweep passes by what the server has in hand.
    until(lambda: stored(job).state == "completed")
    assert stored(job).fence == 1


def test_two_polls_and_one_job(hall):
    wires = [hall.connect(hall.runner()) for _ in range(2)]
    for wire in wires:
        wire.say("ready", poll_timeout=2)
    time.sleep(0.3)

    job = hall.submit()

    told = [wire.hear() for wire in wires]
    assert sorted(frame["event"] for frame in told) == ["job", "no_job"]
    assert stored(job).fence == 1


def test_a_runner_that_hangs_up_while_its_claim_is_under_way_leaves_the_job_to_the_next(hall, runner):
    """The hand-out is undone when the line is known to be broken, and lapses unheard otherwise: never lost."""
    wire = hall.connect(runner)
    wire.say("ready", poll_timeout=30)
    assert wire.is_silent(0.2)
    wire.drop()
    time.sleep(0.2)

    job = hall.submit()

    other = hall.connect(hall.runner())
    assert other.ask("ready")["uuid"] == str(job)
    assert stored(job).deliveries == 1


def test_a_claim_of_a_runner_that_has_hung_up_is_undone(hall, runner):
    """Forced: the claim waits for the runner's row until the line is down."""
    job = hall.submit()
    wire = hall.connect(runner)
    with transaction.atomic():
        Runner.objects.select_for_update().get(id=runner)
        wire.say("ready", poll_timeout=30)
        time.sleep(0.4)
        wire.drop()
        time.sleep(0.4)

    until(lambda: stored(job).fence == 1 and stored(job).state == "queued")
    assert (stored(job).deliveries, stored(job).refunds) == (0, 1)


def test_a_problem_that_never_tries_again_fails_at_the_first_loss(hall, runner, clock):
    Problem.objects.filter(id=hall.work.problem.id).update(max_deliveries=1)
    wire = hall.connect(runner)
    job = hall.running(wire)
    clock.forward(seconds=LAPSED)

    queue.sweep()

    assert stored(job).state == "failed"


def test_another_release_is_offered_once_a_connection_and_ends_nothing(movable_clock, clock):
    release = {"version": "2.0.0", "url": "https://judge.example/runner", "checksum": "ab" * 32}
    old = {"os": "linux", "arch": "x86_64", "version": "1.0.0"}
    with serving(ASSIZE_RUNNER_RELEASES=json.dumps({"x86_64": release})) as site, ExitStack() as lines:
        hall = Hall(site, factories.work(), lines)
        runner = hall.runner()
        wire = hall.connect(runner)

        assert wire.ask("ready", runner=old) == {"event": "update", **release}
        job = hall.submit()
        assert wire.ask("ready", runner=old)["uuid"] == str(job)
        wire.ask("failed", job=job, results=[], error="to be free")
        for machine in (
            old | {"version": "2.0.0"},
            old | {"arch": "riscv64"},
            old | {"os": "windows"},
            old | {"channel": "canary"},
        ):
            assert hall.connect(runner).ask("ready", runner=machine, poll_timeout=1) == {"event": "no_job"}
        assert hall.connect(runner).ask("ready", runner=old | {"channel": "stable"})["event"] == "update"
