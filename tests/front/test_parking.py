"""A request that may wait, driven by hand: what a real server cannot be made to do at the right moment."""

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from config.front.parking import LONGEST_WAIT_SECONDS, Parking, shortened
from judging.wake import Everyone, Fits, Hub, Look, Work

A = Fits(frozenset({"a"}), external=False, pools=frozenset({"default"}))
WORK = Work("a", False, frozenset({"default"}))
JOB, TOKEN = uuid4(), uuid4()


class Answering(list):
    """A whole WSGI answer, as Django's are."""

    streaming = False


class App:
    """A WSGI application that has `jobs` to hand out, and stops in a look while `gate` is closed."""

    def __init__(self):
        self.jobs = 0
        self.fails = False
        self.looks = 0
        self.bodies = []
        self.gate = threading.Event()
        self.gate.set()
        self.looking = threading.Event()
        self.wait = 30.0
        self.awaiting = None
        self.until = None
        self.passed_by = False

    def __call__(self, environ, start_response):
        look = Look.of(environ)
        self.looks += 1
        self.bodies.append(environ["wsgi.input"].read())
        self.looking.set()
        self.gate.wait(5)
        if self.fails:
            start_response("503 Service Unavailable", [])
            return Answering([])
        if self.jobs:
            self.jobs -= 1
            look.handout = (JOB, TOKEN)
            start_response("200 OK", [("Content-Type", "application/json")])
            return Answering([json.dumps({"job": str(JOB)}).encode()])
        look.wait_seconds = self.wait
        look.until, look.passed_by = self.until, self.passed_by
        look.fits, look.awaiting = (None, self.awaiting) if self.awaiting else (A, None)
        start_response("200 OK" if self.awaiting else "204 No Content", [])
        return Answering([b"%d" % self.looks] if self.awaiting else [])


class Caller:
    """The other end of the line."""

    def __init__(self):
        self.gone = asyncio.Event()
        self.sent = []
        self.fails = False

    async def receive(self):
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message):
        if self.fails:
            raise OSError("broken pipe")
        self.sent.append(message)

    @property
    def status(self):
        return self.sent[0]["status"] if self.sent else None


SCOPE = {"type": "http", "method": "POST", "path": "/claim", "http_version": "1.1", "query_string": b"", "headers": []}


class Hall:
    """A parking place with its parts in reach."""

    def __init__(self):
        self.app = App()
        self.undone = []
        self.hub = Hub(asyncio.get_running_loop())
        self.pool = ThreadPoolExecutor(1)
        self.parking = Parking(self.app, self.hub, again=self.pool, undo=lambda *handout: self.undone.append(handout))

    def serve(self, caller):
        return asyncio.create_task(self.parking.serve(SCOPE, caller.receive, caller.send, body=b"{}", pool=self.pool))


def in_a_hall(scenario):
    """Run an async test with a hall."""

    def test():
        async def run():
            hall = Hall()
            try:
                await asyncio.wait_for(scenario(hall), 8)
            finally:
                hall.app.gate.set()
                hall.pool.shutdown()

        asyncio.run(run())

    test.__name__ = scenario.__name__
    return test


async def until(condition):
    while not condition():
        await asyncio.sleep(0.005)


@in_a_hall
async def test_who_passed_work_by_looks_again_soon_though_nobody_tells(hall):
    hall.app.passed_by = True
    caller = Caller()
    task = hall.serve(caller)
    await until(lambda: len(hall.hub.index))

    hall.app.jobs = 1
    await asyncio.wait_for(task, 2)

    assert caller.status == 200


@in_a_hall
async def test_who_passes_work_by_again_and_again_looks_ever_more_seldom(hall):
    hall.app.passed_by = True
    caller = Caller()
    task = hall.serve(caller)
    await asyncio.sleep(1.5)

    assert 3 <= hall.app.looks <= 6
    caller.gone.set()
    await task


@in_a_hall
async def test_every_look_is_the_same_request_again(hall):
    caller = Caller()
    task = hall.serve(caller)
    await until(lambda: len(hall.hub.index))

    hall.app.jobs = 1
    hall.hub.hear([WORK])
    await task

    assert caller.status == 200
    assert hall.app.bodies == [b"{}", b"{}"]
    assert hall.undone == []


@in_a_hall
async def test_work_that_comes_during_the_look_is_seen_without_parking(hall):
    caller = Caller()
    hall.app.gate.clear()
    task = hall.serve(caller)
    await until(hall.app.looking.is_set)

    hall.hub.hear([WORK])
    hall.app.gate.set()

    await until(lambda: hall.app.looks == 2)
    task.cancel()


@in_a_hall
async def test_what_was_announced_before_the_thread_was_free_costs_no_second_look(hall):
    first, second = Caller(), Caller()
    hall.app.gate.clear()
    tasks = [hall.serve(first), hall.serve(second)]
    await until(hall.app.looking.is_set)

    hall.hub.hear([Everyone()])
    hall.app.gate.set()
    await until(lambda: len(hall.hub.index) == 2)

    assert hall.app.looks == 3
    for task in tasks:
        task.cancel()


@in_a_hall
async def test_a_job_is_taken_back_when_the_caller_hangs_up_during_the_look(hall):
    caller = Caller()
    hall.app.jobs = 1
    hall.app.gate.clear()
    task = hall.serve(caller)
    await until(hall.app.looking.is_set)

    caller.gone.set()
    await asyncio.sleep(0.02)
    hall.app.gate.set()
    await task

    await until(lambda: hall.undone)
    assert hall.undone == [(JOB, TOKEN)]
    assert caller.sent == []


@in_a_hall
async def test_a_job_is_taken_back_when_the_answer_cannot_be_sent(hall):
    caller = Caller()
    caller.fails = True
    hall.app.jobs = 1

    with pytest.raises(OSError, match="broken pipe"):
        await hall.serve(caller)

    await until(lambda: hall.undone)
    assert hall.undone == [(JOB, TOKEN)]


@in_a_hall
async def test_a_job_is_taken_back_when_the_request_is_cancelled_during_the_look(hall):
    hall.app.jobs = 1
    hall.app.gate.clear()
    task = hall.serve(Caller())
    await until(hall.app.looking.is_set)

    task.cancel()
    await asyncio.wait({task})
    hall.app.gate.set()

    await until(lambda: hall.undone)
    assert hall.undone == [(JOB, TOKEN)]


@in_a_hall
async def test_a_caller_who_hangs_up_before_a_thread_is_free_is_not_looked_for(hall):
    hall.app.gate.clear()
    busy, caller = hall.serve(Caller()), Caller()
    task = hall.serve(caller)
    await until(hall.app.looking.is_set)

    caller.gone.set()
    await task
    hall.app.gate.set()
    await until(lambda: len(hall.hub.index) == 1)

    assert hall.app.looks == 1
    busy.cancel()


@in_a_hall
async def test_a_wake_whose_look_is_called_off_goes_to_the_next(hall):
    first, second = Caller(), Caller()
    tasks = [hall.serve(first)]
    await until(lambda: len(hall.hub.index) == 1)
    tasks.append(hall.serve(second))
    await until(lambda: len(hall.hub.index) == 2)
    hall.app.looking.clear()
    hall.app.gate.clear()
    busy = hall.serve(Caller())
    await until(hall.app.looking.is_set)

    hall.hub.hear([WORK])
    await asyncio.sleep(0.02)
    first.gone.set()
    await tasks[0]
    hall.app.jobs = 2
    hall.app.gate.set()

    await tasks[1]
    assert second.status == 200
    await busy


@in_a_hall
async def test_a_failing_look_does_not_throw_out_everybody_in_turn(hall):
    tasks = []
    for count in (1, 2, 3):
        tasks.append(hall.serve(Caller()))
        await until(lambda expected=count: len(hall.hub.index) == expected)
    hall.app.fails = True

    hall.hub.hear([WORK])
    await tasks[0]
    await asyncio.sleep(0.05)

    assert len(hall.hub.index) == 2
    hall.hub.stop()
    await asyncio.wait(tasks)


@in_a_hall
async def test_a_token_said_to_be_long_expired_does_not_make_a_storm_of_looks(hall):
    hall.app.until = -3600.0
    task = hall.serve(Caller())
    await asyncio.sleep(0.7)

    assert hall.app.looks == 2
    hall.hub.stop()
    await task


@in_a_hall
async def test_the_end_of_the_process_answers_what_was_last_seen(hall):
    hall.app.awaiting = uuid4()
    caller = Caller()
    task = hall.serve(caller)
    await until(lambda: len(hall.hub.index))

    hall.hub.stop()
    await task

    assert caller.status == 200
    assert caller.sent[1]["body"] == b"1"
    assert (b"connection", b"close") in caller.sent[0]["headers"]


@in_a_hall
async def test_the_end_of_the_process_calls_off_repeated_looks_that_have_not_begun(hall):
    caller = Caller()
    task = hall.serve(caller)
    await until(lambda: len(hall.hub.index))
    hall.app.looking.clear()
    hall.app.gate.clear()
    busy = hall.serve(Caller())
    await until(hall.app.looking.is_set)
    hall.hub.hear([WORK])
    await asyncio.sleep(0.02)

    hall.hub.stop()
    await task

    assert caller.status == 204
    assert hall.app.looks == 2
    hall.app.gate.set()
    await busy


@in_a_hall
async def test_an_awaited_document_is_current_when_the_time_is_up(hall):
    hall.app.awaiting, hall.app.wait = uuid4(), 0.2
    caller = Caller()

    await hall.serve(caller)

    assert caller.sent[1]["body"] == b"2"


@in_a_hall
async def test_a_claim_whose_time_is_up_is_not_looked_for_again(hall):
    hall.app.wait = 0.2
    caller = Caller()

    await hall.serve(caller)

    assert caller.status == 204
    assert hall.app.looks == 1


@pytest.mark.parametrize("draw", [0, 0.5, 0.999])
@pytest.mark.parametrize("wait", [0.1, 1, 25, 300])
def test_a_wait_is_never_longer_than_asked_nor_under_fifteen_sixteenths(wait, draw):
    assert wait * 15 / 16 <= shortened(wait, draw) < wait


def test_a_wait_asked_too_long_is_the_longest_there_is():
    assert shortened(3600, 0.5) == shortened(LONGEST_WAIT_SECONDS, 0.5)
    assert shortened(float("inf"), 0.999) > 281
