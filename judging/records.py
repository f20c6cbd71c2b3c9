"""PURE: the ledger's canonical form and its digests (ledger.md §1). Standard library only."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from uuid import UUID

from judging.rows import JobRow, Scalar

VERSION = 1
NO_ROW = bytes(32)
"""What `after` holds when no row is left behind (`reclaimed`)."""

_ROW_FIELDS = tuple(field.name for field in fields(JobRow))


def instant(at: datetime) -> str:
    """UTC with exactly six fractional digits and a Z (runner-protocol §1)."""
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def scalar(value: object) -> Scalar:
    """A row's value as the ledger writes it."""
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, datetime):
        return instant(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    raise TypeError(f"the ledger holds no {type(value).__name__}")


def canonical(document: Mapping[str, object]) -> bytes:
    """UTF-8 JSON, sorted keys, no blanks. Raises TypeError for floats: integers only."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def row_document(row: JobRow) -> dict[str, Scalar]:
    """The ledgered columns of a job, by name, as the ledger writes them."""
    return {name: scalar(getattr(row, name)) for name in _ROW_FIELDS}


def row_digest(row: JobRow) -> bytes:
    """SHA-256 of the canonical job row."""
    return hashlib.sha256(canonical(row_document(row))).digest()


@dataclass(frozen=True, slots=True)
class Record:
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
            "data": dict(self.data),
            "after": self.after.hex(),
        }

    def chained(self, previous: bytes) -> bytes:
        """SHA-256 over the previous record's hash (empty for the first) and this canonical form."""
        return hashlib.sha256(previous + canonical(self.document())).digest()
