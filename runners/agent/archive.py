"""ZIP archives from strangers, unpacked under bounds (runner-agent §3.10).

Names are all checked before the first byte is written; sizes are counted on the bytes written, since
what an archive says of itself proves nothing.
"""

from __future__ import annotations

import errno
import lzma
import os
import re
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO

from runners.agent.errors import Invalid

MAX_ENTRIES = 10_000
MAX_ENTRY_BYTES = 256 << 20
MAX_TOTAL_BYTES = 1 << 30
MAX_RATIO = 1000
RATIO_FROM_BYTES = 1 << 20
"""Below this an entry may be as compressible as it likes: a test of 100,000 equal letters is no bomb."""

WANTED = frozenset({".timelimit"})
"""A hidden file that says something: where DOMjudge keeps a problem's time limit."""

PIECE = 1 << 18
BROKEN = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, RuntimeError, OSError, ValueError)
"""What zipfile raises on damage, encryption and unknown compression."""

OF_THE_MACHINE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EMFILE, errno.ENFILE})
"""What no archive is to blame for."""


@dataclass
class Listing:
    """The entries of an archive that are to be written, by cleaned name, and what was noticed on the way."""

    files: dict[str, zipfile.ZipInfo] = field(default_factory=dict)
    links: dict[str, zipfile.ZipInfo] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def unpack(source: Path | IO[bytes], target: Path) -> tuple[str, ...]:
    """Write the archive's files below the empty directory `target`; answer notes for whoever made it.

    Raises Invalid with every fault of the names, or with the first of the contents, and OSError for a fault of the machine.
    """
    try:
        archive = zipfile.ZipFile(source)
    except BROKEN as error:
        raise damaged("not a zip, or a damaged one", error) from error
    with archive:
        listing = survey(archive.infolist())
        _resolve_links(archive, listing)
        if listing.faults:
            raise Invalid("archive", listing.faults)
        _write_all(archive, listing, target)
    return tuple(listing.notes)


def damaged(what: str, error: Exception) -> Exception:
    """What to raise for what reading an archive raised: a full disk is not the archive's fault."""
    if isinstance(error, OSError) and error.errno in OF_THE_MACHINE:
        return error
    return Invalid("archive", [f"{what}: {error}"])


def survey(entries: Iterable[zipfile.ZipInfo]) -> Listing:
    """Sort the entries into files and links, and list every fault of their names."""
    listing = Listing()
    for number, entry in enumerate(entries):
        if number >= MAX_ENTRIES:
            listing.faults.append(f"more than {MAX_ENTRIES} entries")
            break
        _place(entry, listing)
    _strip_outer_folder(listing)
    listing.faults += clashes([*listing.files, *listing.links])
    return listing


def _place(entry: zipfile.ZipInfo, listing: Listing) -> None:
    raw = entry.orig_filename.replace("\\", "/")
    if fault := name_fault(raw):
        listing.faults.append(f"{raw[:200]!r}: {fault}")
        return
    name = PurePosixPath(raw)
    if any((part.startswith(".") and part not in WANTED) or part == "__MACOSX" for part in name.parts):
        listing.notes.append(f"ignored {raw[:200]!r}: hidden")
        return
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if raw.endswith("/") or kind == stat.S_IFDIR:
        return
    if kind not in {0, stat.S_IFREG, stat.S_IFLNK}:
        listing.faults.append(f"{raw[:200]!r}: neither a file nor a folder")
        return
    where = listing.links if kind == stat.S_IFLNK else listing.files
    if str(name) in listing.files or str(name) in listing.links:
        listing.faults.append(f"{raw[:200]!r}: occurs twice")
    where[str(name)] = entry


def name_fault(raw: str) -> str | None:
    """Why an entry may not be called that, or None."""
    parts = raw.rstrip("/").split("/")
    if not raw or raw.startswith("/") or re.match(r"[A-Za-z]:", raw):
        return "an absolute name"
    if not raw.endswith("/") and not PurePosixPath(raw).parts:
        return "no name at all"
    if ".." in parts:
        return "a name that leads out"
    if any(ord(letter) < 32 or ord(letter) == 127 or 0xD800 <= ord(letter) <= 0xDFFF for letter in raw):
        return "a name with control characters"
    if any(len(part.encode()) > 255 for part in parts) or len(raw.encode()) > 2000:
        return "a name too long"
    return None


def _strip_outer_folder(listing: Listing) -> None:
    """Many tools wrap everything into one folder; its name says nothing."""
    names = [PurePosixPath(name) for name in (*listing.files, *listing.links)]
    tops = {name.parts[0] for name in names}
    if len(tops) != 1 or any(len(name.parts) == 1 for name in names):
        return
    top = tops.pop()
    listing.notes.append(f"stripped the outer folder {top!r}")
    listing.files = {name[len(top) + 1 :]: entry for name, entry in listing.files.items()}
    listing.links = {name[len(top) + 1 :]: entry for name, entry in listing.links.items()}


def clashes(names: Iterable[str]) -> list[str]:
    """Names that some file system would take for one, and files that would have to be folders too."""
    seen: dict[str, str] = {}
    faults = []
    files = set(names)
    for name in sorted(files):
        path = PurePosixPath(name)
        for prefix in (*[str(parent) for parent in path.parents][:-1], name):
            other = seen.setdefault(unicodedata.normalize("NFC", prefix).casefold(), prefix)
            if other != prefix:
                faults.append(f"{prefix!r} and {other!r} differ only in case")
        faults += [f"{str(parent)!r}: a file and a folder" for parent in path.parents if str(parent) in files]
    return list(dict.fromkeys(faults))


def _resolve_links(archive: zipfile.ZipFile, listing: Listing) -> None:
    """A link to a file of the archive becomes a copy of that file; any other is a fault."""
    for name, entry in listing.links.items():
        if entry.file_size > 4096:
            listing.faults.append(f"{name!r}: a link too long")
            continue
        try:
            said = archive.read(entry).decode()
        except BROKEN as error:
            listing.faults.append(f"{name!r}: unreadable: {error}")
            continue
        aim = os.path.normpath(str(PurePosixPath(name).parent / said))
        if said.startswith("/") or aim not in listing.files:
            listing.faults.append(f"{name!r}: a link to {said[:200]!r}, which is no file of the archive")
            continue
        listing.files[name] = listing.files[aim]


def _write_all(archive: zipfile.ZipFile, listing: Listing, target: Path) -> None:
    total = 0
    for name, entry in listing.files.items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            total = _write(archive, entry, path, total)
        except BROKEN as error:
            raise damaged(f"{name!r}: unreadable", error) from error


def _write(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path, total: int) -> int:
    """One entry, counted while it is written. Answers the new total."""
    written = 0
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file, archive.open(entry) as packed:
        while piece := packed.read(PIECE):
            written += len(piece)
            if fault := _too_much(written, total + written, entry.compress_size):
                raise Invalid("archive", [f"{entry.filename[:200]!r}: {fault}"])
            file.write(piece)
    return total + written


def _too_much(written: int, total: int, packed: int) -> str | None:
    if written > MAX_ENTRY_BYTES:
        return f"more than {MAX_ENTRY_BYTES >> 20} MiB"
    if total > MAX_TOTAL_BYTES:
        return f"more than {MAX_TOTAL_BYTES >> 30} GiB in all"
    if written > RATIO_FROM_BYTES and written > MAX_RATIO * max(packed, 1):
        return f"compressed more than {MAX_RATIO} times"
    return None
