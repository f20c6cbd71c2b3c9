"""No verb hangs: what waits too long answers 503 with Retry-After and changes nothing; claims and sweeps wait for nobody."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

import pytest
from django.db import connection, connections, transaction

from judging import queue
from judging.errors import Refusal, StorageBusy
from judging.models import Thread
from judging.queue import Nothing
from tests.kill.scenes import Scene, stands
from tests.queue.conftest import claimed

WAIT_MS = 60
FOR_A_THREAD = [
    "rejudge", "undo", "renew", "progress", "attach", "release", "report", "report_again", "cancel", "give_back",
    "prioritise", "void", "delete", "revoke", "start", "finish", "lose",
]  # fmt: skip


@contextmanager
def threads_held() -> Iterator[None]:
    """Hold every thread's lock, as somebody who works on all of them."""
    with transaction.atomic():
        list(Thread.objects.select_for_update(no_key=True))
        yield


def bounded(call: Callable[[], Any], bound: str) -> Any:
    """What this call comes to on a connection with a small bound: its result, or the refusal."""

    def run() -> Any:
        try:
            with connection.cursor() as cursor:
                cursor.execute(f"SET {bound} = {WAIT_MS}")
            return call()
        except Refusal as refusal:
            return refusal
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(run).result(30)


@pytest.mark.parametrize("verb", FOR_A_THREAD)
def test_a_verb_that_waits_too_long_for_its_thread_says_busy_and_changes_nothing(clock, verb):
    call = getattr(Scene(clock), f"{verb}_call")()
    before = stands(connection)
    with threads_held():
        met = bounded(call, "lock_timeout")

    assert isinstance(met, StorageBusy), met
    assert (met.status, met.code, met.retry_after) == (HTTPStatus.SERVICE_UNAVAILABLE, "storage.busy", 1)
    if verb != "revoke":  # whose key ends first, in a step of its own
        assert stands(connection) == before
    bounded(call, "lock_timeout")
    assert stands(connection) != before or verb == "report_again"


def test_a_statement_that_takes_too_long_says_busy_too(clock):
    call = Scene(clock).cancel_call()
    with threads_held():
        met = bounded(call, "statement_timeout")

    assert isinstance(met, StorageBusy), met


@pytest.mark.parametrize("scene", ["claim", "claim_lapsed"])
def test_a_claim_waits_for_nobody(clock, scene):
    call = getattr(Scene(clock), f"{scene}_call")()
    with threads_held():
        began = time.monotonic()
        assert isinstance(bounded(call, "lock_timeout"), Nothing)
        assert time.monotonic() - began < 5


def test_a_sweep_passes_by_what_others_work_on_and_comes_back_to_it(clock):
    Scene(clock).sweep_call()
    with threads_held():
        swept = bounded(queue.sweep, "lock_timeout")
    assert (swept.lapsed, swept.orphaned, swept.bad) == (0, 0, 0)

    again = queue.sweep()
    assert (again.lapsed, again.orphaned, again.bad) == (2, 1, 0)


def test_reading_waits_for_nobody(clock):
    scene = Scene(clock)
    receipt = scene.submit(key="k")
    with threads_held():
        assert bounded(lambda: scene.submit(key="k"), "lock_timeout").job == receipt.job
        assert bounded(lambda: queue.known_key(None, "", "k"), "lock_timeout") is True


def test_a_revocation_that_meets_a_claim_under_way_says_busy_rather_than_hang(clock):
    """Its key's row is all they share; the claim holds it until it commits."""
    scene = Scene(clock)
    scene.submit()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT answer FROM judge_pick(%s, false)", [scene.box])
        assert cursor.fetchone() == ("ready",)
        met = bounded(lambda: queue.revoke(scene.box, by="user:1", reason="lost"), "lock_timeout")
    assert isinstance(met, StorageBusy)

    assert claimed(scene.box)
