"""One run over several server processes: none of them has anything the others need (channel-protocol §4)."""

import os
import signal
from contextlib import ExitStack

import pytest

from judging import queue
from judging.models import Outcome
from tests import factories
from tests.channel.conftest import ACCEPTED, OPERATOR, Hall, is_quiet, lines_at, serving, sockets, stored, until, workers


@pytest.fixture(scope="module")
def elsewhere(movable_clock):
    """A second server on the same database."""
    with serving() as site:
        yield site


@pytest.fixture
def halls(served, elsewhere, clock):
    """The same hall behind both servers."""
    with ExitStack() as lines:
        here = Hall(served, factories.work(), lines)
        yield here, Hall(elsewhere, here.work, lines, keys=here.keys)
    until(is_quiet)


def test_a_cut_run_goes_on_through_another_process_and_its_result_is_kept_once(halls, clock):
    here, there = halls
    runner = here.runner()
    first = here.connect(runner)
    job = here.running(first)
    token, lease = stored(job).token, stored(job).lease_until
    assert lease is not None
    first.drop()

    wire = there.connect(runner)
    clock.forward(seconds=60)
    assert wire.ask("heartbeat") == {"event": "ack", "job": str(job)}
    renewed = stored(job).lease_until
    assert renewed is not None
    assert renewed > lease
    clock.forward(seconds=60)
    queue.sweep()
    assert (stored(job).state, stored(job).token) == ("running", token)

    assert wire.ask("completed", job=job, results=ACCEPTED) == {"event": "ack", "job": str(job)}
    until(lambda: stored(job).state == "completed")
    # The ack may have been lost: it is sent again, through either.
    for again in (wire, here.connect(runner)):
        assert again.ask("completed", job=job, results=ACCEPTED) == {"event": "ack", "job": str(job)}
    assert (Outcome.objects.filter(job=job).count(), stored(job).fence) == (1, 1)


def test_an_operators_cancel_reaches_a_run_that_went_on_through_another_process(halls):
    here, there = halls
    runner = here.runner()
    first = here.connect(runner)
    job = here.running(first)
    first.drop()
    wire = there.connect(runner)
    wire.ask("heartbeat")

    queue.cancel(job, by=OPERATOR, reason="a wrong problem")

    assert wire.ask("heartbeat") == {"event": "cancel"}
    assert wire.ask("canceled", job=job) == {"event": "ack", "job": str(job)}
    assert stored(job).state == "cancelled"


def test_the_older_connection_is_closed_by_a_process_that_only_hears_of_the_newer(halls):
    here, there = halls
    runner = here.runner()
    first = here.connect(runner)
    job = here.running(first)

    second = there.connect(runner)
    assert second.ask("running") == {"event": "ack", "job": str(job)}

    assert first.closed() == (1000, '"resumed elsewhere"')
    assert second.ask("heartbeat") == {"event": "ack", "job": str(job)}


def test_work_and_the_end_of_a_key_are_told_to_a_poll_in_whichever_process(halls):
    here, there = halls
    polls = {}
    for hall, kind in ((here, "here@1"), (there, "there@1")):
        polls[kind] = hall.connect(hall.runner(problem_types=(kind,)))
        polls[kind].say("ready", poll_timeout=60)
        assert polls[kind].is_silent(0.2)

    # From this process, which is neither: both hear of it through the database.
    for kind, poll in polls.items():
        job = factories.submission(factories.work(problem_type=kind)).job
        assert poll.hear()["uuid"] == str(job)
    for runner in list(here.keys):
        queue.replace_channel_key(runner, by=OPERATOR)

    assert [poll.closed()[0] for poll in polls.values()] == [1008, 1008]


def holds(worker: int, inode: str) -> bool:
    return f"socket:[{inode}]" in sockets(worker)


def test_a_run_survives_the_death_of_its_worker_process(movable_clock, clock):
    with serving(workers=2) as site, ExitStack() as lines:
        until(lambda: len(workers(site)) == 2)
        hall = Hall(site, factories.work(), lines)
        runner = hall.runner()
        job = hall.running(hall.connect(runner))
        (line,) = lines_at(site.port)
        (holder,) = [pid for pid in workers(site) if holds(pid, line)]

        os.kill(holder, signal.SIGKILL)

        until(lambda: holder not in workers(site))
        again = hall.connect(runner)
        assert again.ask("heartbeat") == {"event": "ack", "job": str(job)}
        queue.cancel(job, by=OPERATOR, reason="a wrong problem")
        assert again.ask("heartbeat") == {"event": "cancel"}
