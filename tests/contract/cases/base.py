"""What the contract's cases begin with: a store, a client, a lane, two runners, and words for what happens."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from tests.contract.interface import Act, Client, Handout, Id, Job, Refused, Store

LEASE = 600
"""Seconds of a lease nobody asked a length for (runner-protocol §4)."""


class Case:
    """The fixtures. A store's own class overrides `store`."""

    @pytest.fixture
    def store(self) -> Store:
        raise NotImplementedError("give the contract an empty store")

    @pytest.fixture
    def queue(self, store: Store) -> Iterator[Client]:
        with store.client() as client:
            yield client

    @pytest.fixture
    def lane(self, store: Store) -> Id:
        return store.lane()

    @pytest.fixture
    def box_1(self, store: Store) -> Id:
        return store.runner()

    @pytest.fixture
    def box_2(self, store: Store) -> Id:
        return store.runner()


@contextmanager
def refused(code: str) -> Iterator[None]:
    """What happens here is refused with this code."""
    with pytest.raises(Refused) as met:
        yield
    assert met.value.code == code


def code_of(act: Callable[[], Any]) -> str:
    """The code of the refusal this meets; empty when it is not refused."""
    try:
        act()
    except Refused as refusal:
        return refusal.code
    return ""


def codes(answers: list[Any]) -> list[str]:
    """The code of each refusal among answers, empty for what succeeded."""
    return [answer.code if isinstance(answer, Refused) else "" for answer in answers]


def claimed(queue: Client, runner: Id, *, lease_seconds: float | None = None) -> Handout:
    """A job that this runner must get now."""
    handout = queue.claim(runner, lease_seconds=lease_seconds)
    assert handout is not None, "there was nothing to claim"
    return handout


def lost(store: Store, queue: Client, handout: Handout) -> Job:
    """The job after this hand-out's lease ran out and a sweep met it."""
    until = queue.job(handout.job).until
    assert until is not None
    store.forward(until - store.now())
    queue.sweep()
    return queue.job(handout.job)


def release(queue: Client, handout: Handout) -> Job:
    queue.release(handout.job, handout.token, handout.runner)
    return queue.job(handout.job)


def renew(queue: Client, handout: Handout, seconds: float | None = None) -> float:
    return queue.renew(handout.job, handout.token, handout.runner, lease_seconds=seconds)


def progress(queue: Client, handout: Handout, outside: str | None = None) -> None:
    queue.progress(handout.job, handout.token, handout.runner, outside=outside)


def report(queue: Client, handout: Handout, **said: Any) -> Any:
    return queue.report(handout.job, handout.token, handout.runner, **said)


def broken(queue: Client, handout: Handout, why: str = "no disk") -> Any:
    return report(queue, handout, infrastructure=why)


def states(queue: Client, *jobs: Id) -> list[str]:
    return [queue.job(job).state for job in jobs]


def at_once(store: Store, *acts: Act) -> list[Any]:
    """Start these at one moment, each with a client of its own; what each returned, or the Refused it met."""
    barrier = threading.Barrier(len(acts))

    def run(act: Act) -> Any:
        with store.client() as client:
            barrier.wait(10)
            try:
                return act(client)
            except Refused as refusal:
                return refusal

    with ThreadPoolExecutor(len(acts)) as pool:
        return [future.result(60) for future in [pool.submit(run, act) for act in acts]]
