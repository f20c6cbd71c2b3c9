"""Problem packages as ZIP files that are the same to the byte each time they are made."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

PROBLEMS = Path(__file__).parent / "problems"
_EPOCH = (1980, 1, 1, 0, 0, 0)
_PLAIN_FILE = 0o100644 << 16


def package(letter: str) -> bytes:
    """The package of a problem, from its folder. Stored and not compressed: another zlib packs otherwise."""
    folder = PROBLEMS / letter
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
            entry = zipfile.ZipInfo(path.relative_to(folder).as_posix(), _EPOCH)
            entry.external_attr = _PLAIN_FILE
            entry.create_system = 3
            archive.writestr(entry, path.read_bytes())
    return packed.getvalue()
