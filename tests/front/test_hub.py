"""The waiting room of one process, on a loop of its own: no server, no database."""

import asyncio
from uuid import uuid4

import pytest

from judging.wake import Cause, Everyone, Fits, Hub, Judged, Waiter, Work, hub

A = Fits(frozenset({"a"}), external=False, pools=frozenset({"default"}))
WORK = Work("a", False, frozenset({"default"}))
FAR = 60.0


class Outlet:
    """Counts how often there was something to tell."""

    stirs = 0

    def stir(self):
        self.stirs += 1


def in_a_hub(scenario):
    """Run an async test with a hub."""

    def test():
        async def run():
            await asyncio.wait_for(scenario(Hub(asyncio.get_running_loop())), 5)

        asyncio.run(run())

    test.__name__ = scenario.__name__
    return test


async def parked(room, wanted=A, *, seconds=FAR):
    """A waiter parked in a task; enter it first."""
    waiter = Waiter(room).__enter__()
    task = asyncio.create_task(waiter.park(wanted, since=room.index.heard, until=room.loop.time() + seconds))
    await asyncio.sleep(0)
    return waiter, task


def leave(waiter):
    waiter.__exit__()


@in_a_hub
async def test_work_wakes_the_first_and_its_success_the_next(room):
    first, first_task = await parked(room)
    _, second_task = await parked(room)

    room.hear([WORK])
    assert await first_task is Cause.WOKEN
    assert not second_task.done()

    leave(first)
    assert await second_task is Cause.WOKEN


@in_a_hub
async def test_a_woken_waiter_that_found_nothing_passes_nothing_on(room):
    first, first_task = await parked(room)
    _, second_task = await parked(room)
    room.hear([WORK])
    await first_task

    again = asyncio.create_task(first.park(A, since=room.index.heard, until=room.loop.time() + FAR))
    await asyncio.sleep(0)
    first.hang_up()
    assert await again is Cause.GONE
    leave(first)
    await asyncio.sleep(0.01)

    assert not second_task.done()


@in_a_hub
async def test_a_waiter_woken_in_the_moment_its_time_is_up_passes_its_wake_on(room):
    late, late_task = await parked(room)
    _, second_task = await parked(room)
    late.ring(Cause.DUE)

    room.hear([WORK])
    assert await late_task is Cause.DUE
    leave(late)

    assert await second_task is Cause.WOKEN


@in_a_hub
async def test_a_waiter_woken_in_the_moment_it_hangs_up_passes_its_wake_on(room):
    gone, gone_task = await parked(room)
    _, second_task = await parked(room)
    gone.hang_up()

    room.hear([WORK])
    assert await gone_task is Cause.GONE
    leave(gone)

    assert await second_task is Cause.WOKEN


@in_a_hub
async def test_work_announced_during_the_look_is_not_waited_for(room):
    waiter, since = Waiter(room), room.index.heard

    room.hear([WORK])

    assert await waiter.park(A, since=since, until=room.loop.time() + FAR) is Cause.MISSED


@in_a_hub
async def test_a_verdict_wakes_all_who_await_it(room):
    submission = uuid4()
    tasks = [(await parked(room, submission))[1] for _ in range(3)]
    _, other = await parked(room, uuid4())

    room.hear([Judged(submission)])

    assert await asyncio.gather(*tasks) == [Cause.WOKEN] * 3
    assert not other.done()


@in_a_hub
async def test_a_broad_change_wakes_all_within_half_a_second(room):
    tasks = [(await parked(room))[1] for _ in range(2000)]
    began = room.loop.time()

    room.hear([Everyone()])
    assert not any(task.done() for task in tasks)

    assert set(await asyncio.gather(*tasks)) == {Cause.DUE}
    assert 0.2 < room.loop.time() - began < 1


@in_a_hub
async def test_work_finds_those_whom_a_broad_change_has_not_woken_yet(room):
    tasks = [(await parked(room))[1] for _ in range(2000)]

    room.hear([Everyone(), WORK])
    await asyncio.sleep(0)

    assert await tasks[0] is Cause.WOKEN


@in_a_hub
async def test_a_broad_change_does_not_put_off_what_is_due_sooner(room):
    waiter, task = await parked(room, seconds=0.01)

    waiter.hurry(FAR)

    assert await task is Cause.DUE


def test_a_parked_wait_looks_again_by_itself(monkeypatch):
    monkeypatch.setattr(hub, "FALLBACK_SECONDS", (0.05, 0.1))

    @in_a_hub
    async def scenario(room):
        began = room.loop.time()
        _, task = await parked(room)
        assert await task is Cause.DUE
        assert room.loop.time() - began < 0.5

    scenario()


def test_a_crowd_looks_again_less_often_and_over_a_whole_minute(monkeypatch):
    monkeypatch.setattr(hub, "CROWD", 1)
    monkeypatch.setattr(hub, "uniform", lambda least, most: (least, most))

    @in_a_hub
    async def scenario(room):
        assert room.fallback() == (20, 40)
        for _ in range(2):
            room.index.park(object(), A, since=0)
        least, most = room.fallback()
        assert (least + most) / 2 == 60
        assert most - least >= 60

    scenario()


@in_a_hub
async def test_the_end_of_the_process_ends_every_wait_and_lets_none_begin(room):
    waiters = [await parked(room) for _ in range(10)]

    room.stop()

    assert {await task for _, task in waiters} == {Cause.STOPPED}
    assert await Waiter(room).park(A, since=0, until=room.loop.time() + FAR) is Cause.STOPPED


@in_a_hub
async def test_nobody_stays_registered_who_left(room):
    waiters = [await parked(room, wanted) for wanted in (A, uuid4())]

    for waiter, task in waiters:
        waiter.hang_up()
        await task
        leave(waiter)

    assert len(room.index) == 0
    assert not room.waiters


@in_a_hub
async def test_what_is_told_here_is_gathered_for_the_others(room):
    room.outlet = Outlet()
    for _ in range(5):
        room.tell((WORK,))
        room.tell((Judged(uuid4()),))
    await asyncio.sleep(0.05)

    assert room.outlet.stirs == 1
    assert len(room.take_untold()) == 6
    assert room.take_untold() == set()


@in_a_hub
async def test_too_much_untold_becomes_a_broad_change(room):
    room.keep_untold({Judged(uuid4()) for _ in range(hub.UNTOLD + 1)})

    assert room.take_untold() == {Everyone()}


def test_a_loop_that_is_gone_tells_nobody():
    loop = asyncio.new_event_loop()
    room = Hub(loop)
    loop.close()

    assert not room.tell((WORK,))


@pytest.mark.parametrize("count", [1, 10])
def test_few_are_woken_sooner_than_many(count):
    @in_a_hub
    async def scenario(room):
        tasks = [(await parked(room))[1] for _ in range(count)]
        began = room.loop.time()
        room.hear([Everyone()])
        await asyncio.gather(*tasks)
        assert room.loop.time() - began < 0.1

    scenario()
