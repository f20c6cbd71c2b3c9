"""Verbs that meet: at one moment, or at one thread's lock in a given order."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

from django.db import connections, transaction

from judging.errors import Refusal
from judging.models import Thread
from tests.locks import until_waiting

PATIENCE_SECONDS = 60


def in_threads(*acts: Callable[[], Any]) -> list[Any]:
    """Run these at once, each on its own connection; what each returned, or the refusal it met."""
    barrier = threading.Barrier(len(acts))

    def together(act: Callable[[], Any]) -> Any:
        barrier.wait(10)
        return act()

    with ThreadPoolExecutor(len(acts)) as pool:
        futures = [pool.submit(_answer, partial(together, act)) for act in acts]
        return [future.result(PATIENCE_SECONDS) for future in futures]


@contextmanager
def thread_locked(job) -> Iterator[None]:
    """Hold the lock of a job's thread, so that whoever comes queues up in the order of coming."""
    with transaction.atomic():
        list(Thread.objects.select_for_update(no_key=True).filter(jobs=job))
        yield


def one_after_the_other(job, *acts: Callable[[], Any]) -> list[Any]:
    """Let these verbs meet at the thread's lock and pass it in this order; what each returned, or the refusal it met."""
    with ThreadPoolExecutor(len(acts)) as pool:
        futures: list[Future[Any]] = []
        with thread_locked(job):
            for n, act in enumerate(acts, start=1):
                futures.append(pool.submit(_answer, act))
                until_waiting(n)
        return [future.result(PATIENCE_SECONDS) for future in futures]


def _answer(act: Callable[[], Any]) -> Any:
    try:
        return act()
    except Refusal as refusal:
        return refusal
    finally:
        connections.close_all()
