"""PURE: the ledger's canonical form and its digests (ledger.md §1). Standard library only."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from itertools import compress
from json.encoder import encode_basestring
from operator import attrgetter, is_not
from typing import Any, NamedTuple
from uuid import UUID

from judging.ids import Id, id_text
from judging.rows import JobRow, Scalar
from judging.states import JobState

VERSION = 1
NO_ROW = bytes(32)
"""What `after` holds when no row is left behind (`reclaimed`)."""


def instant(at: datetime) -> str:
    """UTC with exactly six fractional digits and a Z (runner-protocol §1)."""
    known, text = _latest[0]
    if at is not known:
        text = at.astimezone(UTC).isoformat()
        text = f"{text[:26]}Z" if len(text) == _WITH_DIGITS else f"{text[:19]}.000000Z"
        _latest[0] = at, text
    return text


_WITH_DIGITS = len("2026-03-01T09:00:07.120331+00:00")
"""Without, a time of a whole second has none. Twice as fast as asking for them always; an audit asks a lot."""
_latest: list[tuple[datetime | None, str]] = [(None, "")]
"""The last one asked for: a record's time is written in the record and in the row it leaves. One entry, set at once."""


def scalar(value: object) -> Scalar:
    """A row's value as the ledger writes it."""
    if isinstance(value, UUID):
        return id_text(value)
    if isinstance(value, datetime):
        return instant(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    raise TypeError(f"the ledger holds no {type(value).__name__}")


def canonical(document: Mapping[str, object]) -> bytes:
    """UTF-8 JSON, sorted keys, no blanks."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def row_document(row: JobRow) -> dict[str, Scalar]:
    """The ledgered columns of a job, by name, as the ledger writes them."""
    return {name: scalar(getattr(row, name)) for name in JobRow._fields}


COLUMNS = tuple(sorted(JobRow._fields))
"""A row's columns in canonical order."""
_KEYS = tuple(f'"{name}":' for name in JobRow._fields)
_PLACES = tuple(COLUMNS.index(name) for name in JobRow._fields)
"""Where each field of a row stands in canonical order."""
_FIELDS = range(len(_PLACES))


class _Words(dict[type, Callable[[Any], str]]):
    """How a value of a type is written in canonical JSON; enumerations are what they are made of."""

    def __missing__(self, kind: type) -> Callable[[Any], str]:
        """Raises TypeError for what the ledger cannot hold, when it is written."""
        return lambda value: json.dumps(scalar(value), ensure_ascii=False)


_WORDS = _Words(
    {
        type(None): lambda _: "null",
        bool: lambda value: "true" if value else "false",
        int: str,
        str: encode_basestring,
        JobState: encode_basestring,
        UUID: lambda value: f'"{value}"',
        Id: attrgetter("quoted"),
        datetime: lambda at: f'"{instant(at)}"',
    }
)


class RowText(NamedTuple):
    """A row and its canonical form: the members it is made of, in their order.

    A move leaves most columns as they were, so `then` writes only those that changed: the audit's speed is here.
    """

    row: JobRow
    members: tuple[str, ...]

    @classmethod
    def of(cls, row: JobRow) -> RowText:
        """The form of a row met for the first time. Raises TypeError for a value the ledger cannot hold."""
        return _BLANK.then(row)

    def then(self, row: JobRow) -> RowText:
        """The form of the row that followed."""
        members = list(self.members)
        for field in compress(_FIELDS, map(is_not, row, self.row)):
            value = row[field]
            members[_PLACES[field]] = f"{_KEYS[field]}{_WORDS[type(value)](value)}"
        return RowText(row, tuple(members))

    def digest(self) -> bytes:
        """SHA-256 of the canonical job row."""
        return hashlib.sha256(f"{{{','.join(self.members)}}}".encode()).digest()


_DEFAULTS = JobRow(*map(JobRow._field_defaults.get, JobRow._fields))  # type: ignore[arg-type]
_NULLS = JobRow(*[None] * len(JobRow._fields))  # type: ignore[arg-type]
_BLANK = RowText(_NULLS, tuple([f'"{name}":null' for name in COLUMNS])).then(_DEFAULTS)
"""A row of nothing but defaults: most columns of a new one are those."""


def row_digest(row: JobRow) -> bytes:
    """SHA-256 of the canonical job row."""
    return RowText.of(row).digest()


def documents_digest(failure_reason: str, runner_version: str, extra: str, props: str) -> str:
    """SHA-256, in hexadecimal, over what a result holds besides verdict and scores."""
    # `canonical` of the four, written out like `Record.chained`: the audit does this for every result.
    said, was, props, version = map(encode_basestring, (extra, failure_reason, props, runner_version))
    form = f'{{"extra":{said},"failureReason":{was},"props":{props},"runnerVersion":{version}}}'
    return hashlib.sha256(form.encode()).hexdigest()


@lru_cache(maxsize=256)
def _members(names: tuple[str, ...]) -> list[tuple[str, str]]:
    """The names in canonical order, each with how it is written. Records of one type have the same ones."""
    return [(name, f"{encode_basestring(name)}:") for name in sorted(names)]


class Record(NamedTuple):
    """One ledger record as it is stored; `after` and `hash` are 32 bytes."""

    thread: UUID
    n: int
    at: datetime
    v: int
    type: str
    job: UUID
    actor: str
    data: Mapping[str, Scalar]
    after: bytes
    hash: bytes = b""

    def document(self) -> dict[str, object]:
        """What the hash is taken over: everything but the hash."""
        return {
            "thread": str(self.thread),
            "n": self.n,
            "at": instant(self.at),
            "v": self.v,
            "type": str(self.type),
            "job": str(self.job),
            "actor": self.actor,
            "data": dict(self.data) if isinstance(self.data, Mapping) else self.data,
            "after": self.after.hex(),
        }

    def chained(self, previous: bytes) -> bytes:
        """SHA-256 over the previous record's hash (empty for the first) and this canonical form.

        The form is `canonical(document())`, written out: the audit does this for every record. Raises TypeError
        for data that the ledger cannot hold.
        """
        said = self.data
        data = ",".join([f"{key}{_WORDS[type(said[name])](said[name])}" for name, key in _members(tuple(said.keys()))])
        form = (
            f'{{"actor":{encode_basestring(self.actor)},"after":"{self.after.hex()}","at":"{instant(self.at)}","data":{{{data}}},'
            f'"job":"{id_text(self.job)}","n":{self.n},"thread":"{id_text(self.thread)}","type":{encode_basestring(str(self.type))},"v":{self.v}}}'
        )
        return hashlib.sha256(previous + form.encode()).digest()
