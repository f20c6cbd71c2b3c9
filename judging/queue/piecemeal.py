"""What a sweep does for many, some at a time and each in a transaction of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar
from uuid import UUID

import structlog

from judging.errors import JobStateWrong, NotFound, Refusal
from judging.queue.cancel import cancel

log = structlog.get_logger()
T = TypeVar("T")


def some_of(batches: Iterable[T], step: Callable[[T, int], int], *, most: int) -> int:
    """Take the step for one batch after the other, until so much was done; how much was. A step is told how much is left."""
    done = 0
    for batch in batches:
        done += step(batch, most - done)
        if done >= most:
            break
    return done


def each_safely(items: Iterable[T], act: Callable[[T], bool], *, of: str) -> int:
    """To how many of these the act was done. One that fails is logged, as one `of` those, and left; the next one goes on."""
    return sum(_safely(item, act, of) for item in items)


def _safely(item: T, act: Callable[[T], bool], of: str) -> bool:
    try:
        return act(item)
    except Refusal as refusal:
        log.warning("item_refused", of=of, item=str(item), code=refusal.code)
    except Exception:
        log.exception("item_failed", of=of, item=str(item))
    return False


def ended(job: UUID, *, by: str, reason: str) -> bool:
    """Cancel a job; False when it is over already."""
    try:
        cancel(job, by=by, reason=reason)
    except (JobStateWrong, NotFound):
        return False
    return True
