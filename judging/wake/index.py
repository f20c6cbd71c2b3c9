"""Who waits for what, and who is next: the heart of waking (performance.md §4), without a clock, a task or a thread.

No wake is lost because every wait is at each moment in one of two places. Either it is parked here, and an
announcement finds it; or it is out looking, and `park` refuses it when something it wants was announced since it
set out. One announcement of work takes out one waiter. Whoever is taken out owes the index an answer: it found
nothing, or it passes its wake on with `take`, having taken a job (there may be more: announcements are merged) or
having left without looking.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar
from uuid import UUID

from judging.wake.topics import Fits, Topic, Work, topics_of

# Past this many remembered topics all are forgotten; a wait then looks once too often, never once too seldom.
REMEMBERED = 4096

W = TypeVar("W", bound=Hashable)


class Index(Generic[W]):
    """Waiters by topic, in the order they were parked. Used from one thread; `heard` may be read from any."""

    def __init__(self) -> None:
        self.heard = 0
        self._latest: dict[Topic, int] = {}
        self._latest_of_all = 0
        self._parkings = 0
        self._topics: dict[W, tuple[Topic, ...]] = {}
        # Ordered dictionaries because the oldest is asked for and removed: a plain one looks through its graves.
        self._queues: dict[Topic, OrderedDict[W, int]] = {}

    def __len__(self) -> int:
        return len(self._topics)

    def park(self, waiter: W, wanted: Fits | UUID, *, since: int, runner: UUID | None = None) -> bool:
        """Register, unless what it wants was announced after its look began at `since`: then False, look again.

        `runner` is who waits, if one does: what is decided of it is news too.
        """
        topics = (wanted,) if isinstance(wanted, UUID) else topics_of(wanted)
        if runner is not None:
            topics = (*topics, runner)
        if self._announced(topics, since):
            return False
        self._parkings += 1
        self._topics[waiter] = topics
        for topic in topics:
            self._queues.setdefault(topic, OrderedDict())[waiter] = self._parkings
        return True

    def leave(self, waiter: W) -> None:
        """Take a waiter out; one that is not parked is none of ours."""
        for topic in self._topics.pop(waiter, ()):
            queue = self._queues[topic]
            del queue[waiter]
            if not queue:
                del self._queues[topic]

    def work(self, work: Work) -> W | None:
        """Note the announcement and take out the one it wakes, if anybody parked can use it."""
        self._note(work.topics())
        return self.take(work)

    def take(self, work: Work) -> W | None:
        """Take out the longest parked waiter that fits; for a new announcement, and for a wake passed on."""
        heads = [next(iter(queue.items())) for topic in work.topics() if (queue := self._queues.get(topic))]
        if not heads:
            return None
        first, _ = min(heads, key=lambda head: head[1])
        self.leave(first)
        return first

    def about(self, subject: UUID) -> list[W]:
        """Note the announcement and take out everybody who awaits this submission, or is this runner."""
        self._note((subject,))
        awaiting = list(self._queues.get(subject, ()))
        for waiter in awaiting:
            self.leave(waiter)
        return awaiting

    def everyone(self) -> list[W]:
        """Note that anything may have changed. All stay parked: they are to look soon, and work may come before."""
        self.heard += 1
        self._latest_of_all = self.heard
        return list(self._topics)

    def _announced(self, topics: Iterable[Topic], since: int) -> bool:
        if since >= self.heard:
            return False
        return self._latest_of_all > since or any(self._latest.get(topic, 0) > since for topic in topics)

    def _note(self, topics: Iterable[Topic]) -> None:
        self.heard += 1
        if len(self._latest) >= REMEMBERED:
            self._latest.clear()
            self._latest_of_all = self.heard
        for topic in topics:
            self._latest[topic] = self.heard
