"""What is announced, what is waited for, and how both travel between processes. Values only: no clock, no database."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any
from uuid import UUID

CHANNEL = "assize"
NOTIFY = f"SELECT pg_notify('{CHANNEL}', payload) FROM unnest(%s::text[]) AS payload"

# PostgreSQL refuses a notification of 8,000 bytes.
PAYLOAD_BYTES = 7900

# Past this many payloads in one flush, telling everyone to look is cheaper than telling each why.
PAYLOADS_A_FLUSH = 8

# A runner that declares more kinds than this is woken for these and finds the others by its fallback look.
TOPICS_A_WAITER = 512

Kind = tuple[str, bool, str]
Topic = Kind | UUID
"""What the index is keyed by: (problem type, external, pool), a submission, or a runner."""


@dataclass(frozen=True, slots=True)
class Work:
    """Announced: a job of a lane routed like this may be claimable now (runner-protocol §4)."""

    problem_type: str
    external: bool
    pools: frozenset[str]

    def topics(self) -> Iterator[Topic]:
        """One topic for each pool, in no order."""
        return ((self.problem_type, self.external, pool) for pool in self.pools)


@dataclass(frozen=True, slots=True)
class Judged:
    """Announced: this submission has its verdict, or will never have one."""

    submission: UUID


@dataclass(frozen=True, slots=True)
class Concerns:
    """Announced: something was decided of this runner (revoked, retagged), so its own waits look again at once."""

    runner: UUID


@dataclass(frozen=True, slots=True)
class Everyone:
    """Announced: something broad changed (lanes rerouted, reopening, a switch), so every wait looks again."""


Event = Work | Judged | Concerns | Everyone


@dataclass(frozen=True, slots=True)
class Fits:
    """Wanted: the work one waiting runner could take. An empty list of pools has already become {"default"}."""

    problem_types: frozenset[str]
    external: bool
    pools: frozenset[str]


@lru_cache(maxsize=4096)
def topics_of(fits: Fits) -> tuple[Topic, ...]:
    """The topics a runner waits under, shared between the waits of one kind because ten thousand of them are kept."""
    every = ((kind, fits.external, pool) for kind in fits.problem_types for pool in fits.pools)
    return tuple(islice(every, TOPICS_A_WAITER))


@dataclass(slots=True)
class Look:
    """One look at the queue on behalf of a caller who may wait: the front makes it, the view fills it in.

    A view that leaves `fits` and `awaiting` None has given its final answer. `wait_seconds` None, or not above
    zero, asks for no waiting. `until` is the time in seconds until the caller's token expires. `passed_by` says that work
    was there but in other hands: nobody may announce it when they let go.
    """

    fits: Fits | None = None
    awaiting: UUID | None = None
    runner: UUID | None = None
    handout: tuple[UUID, UUID] | None = None
    wait_seconds: float | None = None
    until: float | None = None
    passed_by: bool = False

    since: int = 0
    """How many announcements had been heard when this look began; the front's own."""

    @classmethod
    def of(cls, meta: Mapping[str, Any]) -> Look:
        """The record of the request with this META; where no front can park it, one that nobody reads."""
        look = meta.get("asgi.scope", {}).get("assize.look")
        return look if isinstance(look, cls) else cls()

    @property
    def found_nothing(self) -> bool:
        """Whether a complete look ended for want of what was asked, and the caller would rather wait."""
        wanted = self.fits is not None or self.awaiting is not None
        return wanted and self.wait_seconds is not None and self.wait_seconds > 0


def payloads(events: Collection[Event], *, origin: str) -> list[str]:
    """The events as notifications of at most PAYLOAD_BYTES ASCII bytes; too many, or one too long, tell everyone.

    `origin` names the process, so that it can ignore its own; a process that does not listen passes "".
    """
    if not events:
        return []
    everyone = [_envelope(origin, [["e"]])]
    if any(isinstance(event, Everyone) for event in events):
        return everyone
    room = PAYLOAD_BYTES - len(_envelope(origin, []))
    packed = list(_packed([_written(event) for event in events], room=room))
    if len(packed) > PAYLOADS_A_FLUSH or any(len(_compact(batch)) - 2 > room for batch in packed):
        return everyone
    return [_envelope(origin, batch) for batch in packed]


def events_in(payload: str, *, origin: str) -> list[Event]:
    """The events another process announced; none for this process's own. What cannot be read means: look again."""
    try:
        sender, items = json.loads(payload)
        return [] if origin and sender == origin else [_read(item) for item in items]
    except (ValueError, TypeError, IndexError):
        return [Everyone()]


def _packed(items: Iterable[list[Any]], *, room: int) -> Iterator[list[list[Any]]]:
    batch: list[list[Any]] = []
    used = 0
    for item in items:
        length = len(_compact(item)) + 1
        if batch and used + length > room:
            yield batch
            batch, used = [], 0
        batch.append(item)
        used += length
    yield batch


def _written(event: Event) -> list[Any]:
    match event:
        case Work(kind, external, pools):
            return ["w", kind, int(external), sorted(pools)]
        case Judged(submission):
            return ["j", str(submission)]
        case Concerns(runner):
            return ["r", str(runner)]
        case Everyone():
            return ["e"]


def _read(item: list[Any]) -> Event:
    match item:
        case ["w", str(kind), external, [*pools]]:
            return Work(kind, bool(external), frozenset(pools))
        case ["j", str(submission)]:
            return Judged(UUID(submission))
        case ["r", str(runner)]:
            return Concerns(UUID(runner))
        case _:
            return Everyone()


def _envelope(origin: str, items: list[list[Any]]) -> str:
    return _compact([origin, items])


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
