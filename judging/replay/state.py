"""PURE: what is known of a thread after a record, and how a contradiction is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple
from uuid import UUID

from judging.records import RowText
from judging.rows import JobRow
from judging.text import printable


class Kind(StrEnum):
    """What kind of contradiction was met (ledger.md §3)."""

    GAP = "gap"
    """A record is not where its number says: one is missing, or stands twice, or belongs elsewhere."""
    CHAIN = "chain"
    """A record's hash does not follow from the one before it, or is not the one that an anchor kept."""
    CLOCK = "clock"
    """A record is older than the one before it."""
    ILLEGAL = "illegal"
    """The published rules do not allow this from what was there."""
    DIGEST = "digest"
    """The rules leave another row than the one the record sealed."""
    TAIL = "tail"
    """The thread remembers another last record than the ledger has."""
    TABLE = "table"
    """A row of the tables is not what the ledger says it is."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the ledger: a record's number in its thread, and the job it tells of, if any."""

    thread: UUID
    n: int
    job: UUID | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """What a column should hold by the ledger and the rules, and what stands there."""

    column: str
    logged: object
    found: object


class Divergence(Exception):
    """The first place where the ledger, the rules and the tables do not agree.

    For `table`, the place is the last record that tells of the row.
    """

    def __init__(self, kind: Kind, words: str, place: Place, difference: Difference | None = None) -> None:
        super().__init__(kind, words, place, difference)
        self.kind = kind
        self.words = words
        self.place = place
        self.difference = difference

    def __str__(self) -> str:
        named = f" (job {self.place.job})" if self.place.job else ""
        text = f"thread {self.place.thread}, record {self.place.n}: {self.kind}: {self.words}{named}"
        if self.difference is None:
            return text
        logged, found = (printable(str(value)) for value in (self.difference.logged, self.difference.found))
        return f"{text}; {self.difference.column}: logged {logged}, found {found}"

    def document(self) -> dict[str, str | int | None]:
        """As JSON for programs; values are their text, None where there is none."""
        values: dict[str, object] = {"kind": self.kind, "words": self.words, "thread": self.place.thread}
        values |= {"job": self.place.job}
        for name in ("column", "logged", "found"):
            values[name] = getattr(self.difference, name, None)
        return {name: None if value is None else str(value) for name, value in values.items()} | {"n": self.place.n}


class Handout(NamedTuple):
    """One delivery as the ledger tells it; `ending` is empty, and `ended_at` None, while it lasts."""

    token: UUID
    job: UUID
    fence: int
    runner: UUID
    claimed_at: datetime
    ended_at: datetime | None = None
    ending: str = ""


class Judgement(NamedTuple):
    """A result as its record sealed it. Scores are their shortest exact text; `documents` digests the rest."""

    id: UUID
    token: UUID
    job: UUID
    submission: UUID
    attempt: int
    runner: UUID
    verdict: str
    score: str | None
    max_score: str | None
    infrastructure_failure: bool
    documents: str
    created_at: datetime


class Tale(NamedTuple):
    """What the ledger tells of one job; `n` is its last record's number.

    `row` is None when the row was reclaimed, or cannot be known because a record in between is not understood:
    `dark` tells the two apart. Hand-outs up to `untold` came before a baseline.
    """

    row: JobRow | None
    text: RowText | None
    n: int
    handouts: tuple[Handout, ...] = ()
    judgement: Judgement | None = None
    untold: int = 0
    dark: bool = False


@dataclass(frozen=True, slots=True)
class Due:
    """What the next record must be, because several records of one thread tell of one decision.

    A new job `by` takes the place of `ended`, told before it is opened; or a job that came back gives way to `by`.
    """

    by: UUID
    at: datetime
    ended: tuple[JobRow, ...] = ()
    displaces: UUID | None = None


class State(NamedTuple):
    """A thread after its record `n`. A reader that goes on from here needs nothing that came before.

    `skipped` counts records that this version does not understand.
    """

    thread: UUID
    n: int = 0
    tail: bytes = b""
    at: datetime | None = None
    tales: Mapping[UUID, Tale] = MappingProxyType({})
    due: Due | None = None
    skipped: int = 0

    @property
    def dark(self) -> bool:
        """Whether some job's row is not known: then the thread's head is not known either."""
        return any(tale.dark for tale in self.tales.values())

    def rows(self) -> list[JobRow]:
        """The rows that the tables must hold, as far as they are known."""
        return [tale.row for tale in self.tales.values() if tale.row is not None]
