"""Results that the server has not accepted yet, on disk before the first attempt to send them."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runners.agent.box.sweep import remove_tree

log = logging.getLogger(__name__)
REPORT = "report.json"


@dataclass(frozen=True, slots=True)
class Finished:
    """The outcome of one delivery: what to report and what to attach, by role."""

    job_id: str
    lease_token: str
    report: Mapping[str, Any]
    attachments: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Spool:
    """A folder with one folder a result, complete or absent."""

    root: Path

    def open(self) -> Spool:
        """Make the folder; remove what a killed agent had only begun to write."""
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        for left in self.root.glob(".*"):
            remove_tree(left)
        return self

    def put(self, finished: Finished) -> Path:
        """Store a result, on the disk when this returns. Answers its place. Raises OSError, having left nothing."""
        draft = self.root / f".{secrets.token_hex(8)}"
        document = {"jobId": finished.job_id, "leaseToken": finished.lease_token, "report": finished.report}
        parts = {REPORT: json.dumps(document).encode(), **{f"role-{role}": data for role, data in finished.attachments.items()}}
        place = self.root / draft.name[1:]
        try:
            draft.mkdir(mode=0o700)
            for name, data in parts.items():
                _write(draft / name, data)
            draft.rename(place)
        except OSError:
            remove_tree(draft)
            raise
        _sync(self.root)
        return place

    def waiting(self) -> list[Path]:
        return sorted(path for path in self.root.iterdir() if not path.name.startswith("."))

    def get(self, place: Path) -> Finished | None:
        """The result stored there; None when it is unreadable, which is logged."""
        try:
            document = json.loads((place / REPORT).read_bytes())
            attachments = {path.name.removeprefix("role-"): path.read_bytes() for path in sorted(place.glob("role-*"))}
            return Finished(document["jobId"], document["leaseToken"], document["report"], attachments)
        except (OSError, ValueError, KeyError, TypeError) as error:
            log.error("spooled result %s is unreadable: %s", place.name, error)
            return None

    def set_aside(self, place: Path) -> None:
        """Keep an unreadable result for a person to look at, out of the way."""
        aside = self.root.with_name("unreadable")
        aside.mkdir(exist_ok=True, mode=0o700)
        place.rename(aside / place.name)

    def remove(self, place: Path) -> None:
        """In one step first: who is killed in the middle of it leaves no half of a result."""
        doomed = place.with_name(f".{place.name}")
        with contextlib.suppress(FileNotFoundError):
            place.rename(doomed)
        remove_tree(doomed)


def _write(path: Path, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
