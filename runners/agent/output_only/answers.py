"""Answers out of a participant's archive, taken one by one into memory that is bounded."""

from __future__ import annotations

import contextlib
import os
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from runners.agent.archive import BROKEN, PIECE, damaged, survey
from runners.agent.blob import Blob, Capture
from runners.agent.errors import Invalid


class TooLarge(Exception):
    """An answer has more bytes than are allowed."""


class Unreadable(Exception):
    """An answer is damaged, or packed as nobody here can unpack it."""


@dataclass(frozen=True, slots=True)
class Answers:
    """An open archive of answers."""

    archive: zipfile.ZipFile
    files: Mapping[str, zipfile.ZipInfo]
    notes: tuple[str, ...]

    def of(self, test: str, limit: int) -> Blob | None:
        """The answer to a test, None when there is none; the caller closes it. Raises TooLarge or Unreadable."""
        entry = self.files.get(f"{test}.out") or self.files.get(test)
        if entry is None:
            return None
        capture = Capture(limit)
        try:
            with self.archive.open(entry) as packed:
                while piece := packed.read(PIECE):
                    if not capture.write(piece):
                        raise TooLarge
        except BROKEN as error:
            capture.discard()
            raise Unreadable from error
        except TooLarge:
            capture.discard()
            raise
        return capture.seal()


@contextlib.contextmanager
def opened(source: Blob) -> Iterator[Answers]:
    """The archive a participant sent. Raises Invalid with every fault of it."""
    with os.fdopen(source.reopened(), "rb") as file:
        try:
            archive = zipfile.ZipFile(file)
        except BROKEN as error:
            raise damaged("not a zip, or a damaged one", error) from error
        with archive:
            listing = survey(archive.infolist())
            if listing.faults:
                raise Invalid("archive", listing.faults)
            links = [f"ignored {name!r}: a link" for name in listing.links]
            yield Answers(archive, listing.files, (*listing.notes, *links))
