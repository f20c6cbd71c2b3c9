"""PURE: why a queued job is not being judged, in words that an operator can act on.

Authority: what a claim asks of work and runner, runner-protocol §4, and the installation's switches, §10.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum


class Obstacle(StrEnum):
    """What keeps a job waiting. Several may hold at once, those about the fleet exclude each other."""

    CLOSED = "closed"
    """Maintenance is closed: nothing is handed out. An operator reopens."""
    DRAINING = "draining"
    """Maintenance is draining: what runs is finished, nothing is handed out. An operator reopens."""
    PAUSED = "paused"
    """Its lane is paused. An operator resumes it."""
    EXTERNAL_OFF = "external off"
    """The work is external, and external judging is switched off for the installation."""
    SIBLING_RUNNING = "sibling running"
    """Another job of the same thread is being judged; its report lets this one go."""
    BEHIND_SIBLING = "behind a sibling"
    """Another waiting job of the same thread goes first."""
    NO_TYPE = "no runner of this type"
    """No approved runner declares this problem type."""
    NO_FLAG = "no runner with this external flag"
    """Runners declare the type, but none with the same external flag."""
    NO_POOL = "no runner in these pools"
    """Runners could judge it, but none of them serves one of its pools. An operator retags."""
    NONE_CONNECTED = "none connected"
    """Approved runners match, but none has been seen lately."""
    ALL_BUSY = "all busy"
    """Every connected runner that matches holds a job."""
    IN_LINE = "in line"
    """Nothing stands in the way: a runner that matches is free, and takes it when its turn comes."""


URGENT = frozenset(
    {Obstacle.NO_TYPE, Obstacle.NO_FLAG, Obstacle.NO_POOL, Obstacle.NONE_CONNECTED, Obstacle.PAUSED, Obstacle.EXTERNAL_OFF, Obstacle.CLOSED}
)
"""What does not end by itself: a person is needed."""


@dataclass(frozen=True, slots=True)
class Need:
    """What work asks of a runner: the problem's type and flag, and the lane's effective pools."""

    problem_type: str
    external: bool
    pools: frozenset[str]


@dataclass(frozen=True, slots=True)
class Squad:
    """Runners that declare the same and serve the same pools, counted.

    `connected` and `idle` are among the approved; `pending` wait for approval.
    """

    problem_types: frozenset[str]
    external: bool
    pools: frozenset[str]
    approved: int = 0
    connected: int = 0
    idle: int = 0
    pending: int = 0

    def takes(self, need: Need) -> bool:
        """Whether these runners may be given this work (runner-protocol §4, conditions 1 to 3)."""
        return need.problem_type in self.problem_types and need.external == self.external and bool(need.pools & self.pools)


@dataclass(frozen=True, slots=True)
class Strength:
    """How many runners may take a piece of work."""

    approved: int = 0
    connected: int = 0
    idle: int = 0
    pending: int = 0


@dataclass(frozen=True, slots=True)
class Place:
    """Where a job stands besides the fleet: its thread's head, whether a sibling runs, and what is switched."""

    is_head: bool = True
    sibling_running: bool = False
    paused: bool = False
    level: str = "open"
    external_judging: bool = False


def strength(need: Need, squads: Iterable[Squad]) -> Strength:
    """The runners that may take this work, added up over squads."""
    match = [squad for squad in squads if squad.takes(need)]
    return Strength(
        approved=sum(squad.approved for squad in match),
        connected=sum(squad.connected for squad in match),
        idle=sum(squad.idle for squad in match),
        pending=sum(squad.pending for squad in match),
    )


def obstacles(need: Need, place: Place, squads: Iterable[Squad]) -> tuple[Obstacle, ...]:
    """Everything that keeps this job waiting, what must be mended first in front; IN_LINE when nothing does."""
    own = _of_fleet(need, tuple(squads))
    found = [
        (place.level == "closed", Obstacle.CLOSED),
        (place.level == "draining", Obstacle.DRAINING),
        (place.paused, Obstacle.PAUSED),
        (need.external and not place.external_judging, Obstacle.EXTERNAL_OFF),
        (own in URGENT, own),
        (place.sibling_running, Obstacle.SIBLING_RUNNING),
        (not place.sibling_running and not place.is_head, Obstacle.BEHIND_SIBLING),
        (own is Obstacle.ALL_BUSY, own),
    ]
    return tuple(what for holds, what in found if holds) or (Obstacle.IN_LINE,)


def _of_fleet(need: Need, squads: tuple[Squad, ...]) -> Obstacle:
    """What the fleet lacks; each step narrows to the runners that passed the one before."""
    approved = [squad for squad in squads if squad.approved]
    declared = [squad for squad in approved if need.problem_type in squad.problem_types]
    flagged = [squad for squad in declared if squad.external == need.external]
    served = strength(need, flagged)
    steps = (
        (not declared, Obstacle.NO_TYPE),
        (not flagged, Obstacle.NO_FLAG),
        (not served.approved, Obstacle.NO_POOL),
        (not served.connected, Obstacle.NONE_CONNECTED),
        (not served.idle, Obstacle.ALL_BUSY),
    )
    return next((what for holds, what in steps if holds), Obstacle.IN_LINE)


def stranded(needs: Iterable[Need], squads: Iterable[Squad]) -> list[Need]:
    """The work that no approved runner may take: what a retag or a revocation must warn of."""
    known = tuple(squads)
    return [need for need in needs if not strength(need, known).approved]


def without(squads: Iterable[Squad], leaving: Iterable[Squad]) -> list[Squad]:
    """The fleet after these runners, each a squad of one, have left it."""
    left = list(squads)
    for one in leaving:
        for place, squad in enumerate(left):
            if (squad.problem_types, squad.external, squad.pools) == (one.problem_types, one.external, one.pools):
                left[place] = replace(squad, approved=squad.approved - one.approved)
                break
    return left


def sentence(obstacle: Obstacle, need: Need, squads: Iterable[Squad]) -> str:
    """The obstacle in one sentence, with the names and numbers of this work."""
    kind = f"{'external ' if need.external else ''}{need.problem_type}"
    pools = ", ".join(sorted(need.pools))
    able = strength(need, squads)
    return _WORDS[obstacle].format(
        kind=kind,
        pools=pools,
        approved=_runners(able.approved),
        connected=_runners(able.connected),
        other="non-external" if need.external else "external",
        idle=_runners(able.idle),
    ) + (f" {_runners(able.pending)} waiting for approval would match." if obstacle in _APPROVAL_HELPS and able.pending else "")


def _runners(count: int) -> str:
    return "1 runner" if count == 1 else f"{count} runners"


_APPROVAL_HELPS = frozenset({Obstacle.NO_TYPE, Obstacle.NO_FLAG, Obstacle.NO_POOL, Obstacle.NONE_CONNECTED, Obstacle.ALL_BUSY})
_WORDS = {
    Obstacle.CLOSED: "The installation is closed for maintenance: nothing is handed out until it is reopened.",
    Obstacle.DRAINING: "The installation is draining: nothing more is handed out until it is reopened.",
    Obstacle.PAUSED: "Its lane is paused: nothing of it is handed out until it is resumed.",
    Obstacle.EXTERNAL_OFF: "External judging is switched off for the whole installation.",
    Obstacle.SIBLING_RUNNING: "Another job of the same thread is being judged; this one is handed out when that one ends.",
    Obstacle.BEHIND_SIBLING: "Another waiting job of the same thread goes first.",
    Obstacle.NO_TYPE: "No approved runner declares {kind}.",
    Obstacle.NO_FLAG: "Runners declare this type, but all of them are {other}.",
    Obstacle.NO_POOL: "No approved runner for {kind} serves the pool {pools}.",
    Obstacle.NONE_CONNECTED: "{approved} may judge it, but none is connected.",
    Obstacle.ALL_BUSY: "All of {connected} connected that may judge it are busy.",
    Obstacle.IN_LINE: "It is in line: {idle} may take it at any moment.",
}
