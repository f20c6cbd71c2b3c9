"""What a sweep did, counted as it is committed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import structlog

from judging.rows import JobRow
from judging.states import JobState

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Ended:
    """A hold that a sweep ended: the row before, the state it is left in, and whether its runner was gone."""

    before: JobRow
    left: JobState
    orphaned: bool = False


@dataclass(slots=True)
class Swept:
    """What one sweep did. `bad` counts rows that raised an error; they never stop the sweep."""

    returned: int = 0
    given_up: int = 0
    lapsed: int = 0
    orphaned: int = 0
    processed: int = 0
    repaired: int = 0
    rejudged: int = 0
    verified: int = 0
    bad: int = 0

    def count(self, ended: Iterable[Ended]) -> None:
        """Count what is committed, and log it."""
        for one in ended:
            if one.orphaned:
                self.orphaned += 1
                continue
            self.lapsed += 1
            self.given_up += one.left is JobState.FAILED
            self.returned += one.left is JobState.QUEUED
            log.info("lease_expired", job=str(one.before.id), runner=str(one.before.runner), left=str(one.left))

    def __str__(self) -> str:
        return (
            f"{self.returned} returned, {self.given_up} given up, {self.lapsed} lapsed, "
            f"{self.orphaned} taken from revoked runners, {self.processed} outcomes processed, "
            f"{self.repaired} lanes put to rest, {self.rejudged} attempts of rejudgings, "
            f"{self.verified} of verifications, {self.bad} bad"
        )
