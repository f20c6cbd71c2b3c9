"""The queues in which claims are measured: how deep, and what stands before the work one may take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import cycle
from typing import Any
from uuid import UUID

from judging.bench import floor, load
from judging.bench.filler import fill
from judging.bench.loaded import Library
from judging.bench.scratch import Connection, direct, vacuum

LOCK = "SELECT 1 FROM {} ORDER BY {} LIMIT {} FOR UPDATE"
LANES = 100
LOCKED = 1000
CREW = 64
"""More than there are clients at most, so that no two are one machine."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A queue of one depth: half of it in the lanes `first`, and behind it the other half, mostly in `mine`.

    Each client is the next of the `crew`, round and round: two calls of one machine would mark the same row in turn.
    """

    address: str
    straight: Connection
    into: Library
    crew: Iterator[UUID]
    depth: int

    @property
    def first(self) -> list[UUID]:
        """The lanes at the head."""
        return self.into.lanes[LANES:]

    @property
    def behind(self) -> list[UUID]:
        """The lanes behind them; the first of these is deep."""
        return self.into.lanes[:LANES]

    def route(self, lanes: list[UUID], *, problem_type: str = load.TYPE, pool: str = "default") -> None:
        """Say who may judge the work of these lanes."""
        self.straight.execute(
            "UPDATE judging_lane SET problem_type = %s, pools = %s, active = true WHERE id = ANY(%s)", [problem_type, [pool], lanes]
        )

    def put_back(self) -> None:
        """What the floor and the pick took waits again."""
        self.straight.execute("UPDATE bench_floor SET taken = false WHERE taken")
        self.straight.execute("UPDATE judging_thread SET claimable = true, running = NULL WHERE running = head")

    def restock(self, count: int) -> None:
        """As much as was claimed comes in anew, in the one lane that every case leaves mine."""
        fill(self.straight, self.into, count, lanes=self.into.lanes[:1], start=str(datetime.now(UTC)))

    def tidy(self) -> None:
        """After a case: everything mine again, and no remains."""
        self.route(self.into.lanes)
        vacuum(self.straight, "judging_thread", "judging_job", "bench_floor", "judging_lane")


Case = Callable[[Stage], AbstractContextManager[Any]]


def _mixed(stage: Stage) -> AbstractContextManager[None]:
    stage.route(stage.into.lanes[1::2], problem_type=load.FOREIGN)
    return nullcontext()


def _foreign(stage: Stage, **how: str) -> AbstractContextManager[None]:
    stage.route(stage.into.lanes[1:], **how)
    return nullcontext()


def _many_lanes(stage: Stage) -> AbstractContextManager[None]:
    stage.route(stage.first, problem_type=load.FOREIGN)
    return nullcontext()


def _blocked(stage: Stage) -> AbstractContextManager[None]:
    fill(stage.straight, stage.into, min(10_000, stage.depth), lanes=stage.into.lanes, start="2019-01-01", blocked=True)
    return nullcontext()


@contextmanager
def _locked(stage: Stage) -> Iterator[None]:
    most = min(LOCKED, stage.depth // 4)
    with direct(stage.address) as other, other.transaction():
        other.execute(LOCK.format("judging_thread WHERE claimable", "head_priority, head_created_at, head", most))
        other.execute(LOCK.format("bench_floor WHERE NOT taken", "at", most))
        yield


CASES: dict[str, tuple[Case, float]] = {
    "all mine": (lambda _: nullcontext(), 1.5),
    "mixed": (_mixed, 1.5),
    "head of a foreign type": (lambda stage: _foreign(stage, problem_type=load.FOREIGN), 1.5),
    "head of a foreign pool": (lambda stage: _foreign(stage, pool="elsewhere"), 1.5),
    "100 lanes of mine behind a foreign head": (_many_lanes, 1.8),
    "the first 1,000 locked by others": (_locked, 1.5),
    "10,000 blocked siblings first": (_blocked, 1.5),
}
"""Each case prepares a stage for as long as its context lasts; with its target at up to 8 clients."""


def set_up(address: str, straight: Connection, depth: int) -> Stage:
    """A queue of this depth beside a floor as deep, in place of what was there."""
    straight.execute("DROP TABLE IF EXISTS bench_floor")
    straight.execute("SET session_replication_role = replica")
    straight.execute("DELETE FROM judging_thread; DELETE FROM judging_job; DELETE FROM judging_submission; DELETE FROM judging_lane")
    straight.execute("SET session_replication_role = origin")
    straight.execute(floor.TABLE)
    straight.execute(floor.FILL, [depth])
    crew = cycle([machine.id for machine in load.machines(CREW)])
    stage = Stage(address, straight, load.library(lanes=2 * LANES), crew, depth)
    fill(straight, stage.into, depth // 2, lanes=stage.first, start=f"2020-01-01 00:00:00.{depth:07}")
    deep = [lane for other in stage.behind for lane in (stage.behind[0], other)]
    fill(straight, stage.into, depth - depth // 2, lanes=deep, start=f"2021-01-01 00:00:00.{depth:07}")
    vacuum(straight, "judging_submission")
    stage.tidy()
    return stage
