"""PURE: what is wrong with a package, as far as one can tell without knowing its problem type.

The server does not interpret packages (runner-protocol, property 3). It does know archives and documents, and an operator
should hear of a damaged one before a contest does.
"""

from __future__ import annotations

import json
import lzma
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import IO

import yaml

MOST_ENTRIES = 20_000
MOST_UNPACKED = 4 * 1024**3
MOST_DOCUMENT = 1024**2
MOST_FAULTS = 200
BROKEN = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, RuntimeError, OSError, ValueError)


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong; `line` is 0 when it is about the whole file, `file` empty when about the package."""

    file: str
    line: int
    words: str


def is_archive(stream: IO[bytes]) -> bool:
    """Whether this is a ZIP file at all. Leaves the stream at its beginning."""
    stream.seek(0)
    found = zipfile.is_zipfile(stream)
    stream.seek(0)
    return found


def faults(stream: IO[bytes]) -> list[Fault]:
    """Everything wrong with a ZIP package, at most MOST_FAULTS. Nothing is unpacked to disk."""
    found: list[Fault] = []
    try:
        with zipfile.ZipFile(stream) as archive:
            for fault in _all(archive):
                found.append(fault)
                if len(found) == MOST_FAULTS:
                    break
    except BROKEN as error:
        found.append(Fault("", 0, f"The archive cannot be read: {error}"))
    stream.seek(0)
    return found


def _all(archive: zipfile.ZipFile) -> Iterator[Fault]:
    entries = archive.infolist()
    if all(_is_folder(entry) for entry in entries):
        yield Fault("", 0, "There is no file in it.")
    if len(entries) > MOST_ENTRIES:
        yield Fault("", 0, f"It has {len(entries)} entries; at most {MOST_ENTRIES} are looked at.")
        return
    unpacked = sum(entry.file_size for entry in entries)
    if unpacked > MOST_UNPACKED:
        yield Fault("", 0, f"Unpacked it would have {unpacked} bytes, more than {MOST_UNPACKED}.")
        return
    yield from _names(entries)
    for entry in entries:
        if not _is_folder(entry):
            yield from _content(archive, entry)


def _is_folder(entry: zipfile.ZipInfo) -> bool:
    """By its name's end, as some tools of Windows write it too. ZipInfo.is_dir falls over a name that is empty."""
    return entry.filename.endswith(("/", "\\"))


def _names(entries: list[zipfile.ZipInfo]) -> Iterator[Fault]:
    for entry in entries:
        path = PurePosixPath(entry.filename.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts or ":" in "".join(path.parts[:1])[:2]:
            yield Fault(entry.filename, 0, "The path leads out of the package.")
        elif not path.parts and not _is_folder(entry):
            yield Fault("", 0, f"A file is called {entry.filename!r}, which is no name.")
    met = Counter(entry.filename.rstrip("/").lower() for entry in entries)
    for name, times in met.items():
        if times > 1:
            yield Fault(name, 0, f"{times} entries have this name, where upper and lower case are one.")


def _content(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[Fault]:
    """Read it to its end, which checks its CRC; a document is read as what its name says."""
    if entry.flag_bits & 1:
        yield Fault(entry.filename, 0, "It is encrypted.")
        return
    suffix = PurePosixPath(entry.filename).suffix.lower()
    try:
        with archive.open(entry) as member:
            if suffix in READERS and entry.file_size <= MOST_DOCUMENT:
                yield from READERS[suffix](entry.filename, member.read())
            else:
                while member.read(1024 * 1024):
                    pass
    except BROKEN as error:
        yield Fault(entry.filename, 0, f"It is damaged: {error}")


def _json(name: str, raw: bytes) -> Iterator[Fault]:
    try:
        json.loads(raw)
    except json.JSONDecodeError as error:
        yield Fault(name, error.lineno, f"It is not JSON: {error.msg}.")
    except (ValueError, RecursionError) as error:
        yield Fault(name, 0, f"It is not JSON: {error}.")


def _yaml(name: str, raw: bytes) -> Iterator[Fault]:
    """Parsed into events only: an alias is not followed, so no document grows."""
    try:
        for _ in yaml.parse(raw, Loader=yaml.SafeLoader):
            pass
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        yield Fault(name, line, f"It is not YAML: {error.problem}.")
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        yield Fault(name, 0, f"It is not YAML: {' '.join(str(error).split())}.")


READERS = {".json": _json, ".yml": _yaml, ".yaml": _yaml}
