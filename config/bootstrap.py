"""Makes the environment this project runs in, with nothing but Python's standard library.

`manage.py` calls `enter` before it imports anything else. An environment that has every pinned package is used as it
is; otherwise `.venv` is made from `requirements.txt`, once, and the program starts again inside it.
"""

import fcntl
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import IO

STAMP = "assize-requirements"  # in .venv: the hash of what was installed there, written last
MAKING = b"making"  # in the lock file while .venv is being made: found at a start, it tells of a killed one
# What pip says once of every pin; the wording after it differs between its versions.
PACKAGE = re.compile(r"(?:(?:Collecting|Requirement already satisfied:) (?=\S+==)|Processing \S*/)(\S+)")
AGAIN = "ASSIZE_STARTED_AGAIN"
TAIL_LINES = 15


@dataclass(frozen=True, slots=True)
class Workshop:
    """A project folder, its requirements and its `.venv`."""

    project: Path

    @property
    def requirements(self) -> Path:
        """The pinned packages."""
        return self.project / "requirements.txt"

    @property
    def venv(self) -> Path:
        """Where they are installed."""
        return self.project / ".venv"

    @property
    def python(self) -> Path:
        """The interpreter that sees them."""
        return self.venv / "bin" / "python"

    @property
    def fingerprint(self) -> str:
        """The hash of the requirements."""
        return hashlib.sha256(self.requirements.read_bytes()).hexdigest()

    @property
    def ready(self) -> bool:
        """Whether .venv holds exactly what the requirements say now, and its interpreter still exists."""
        stamp = self.venv / STAMP
        return os.access(self.python, os.X_OK) and stamp.is_file() and stamp.read_text() == self.fingerprint


def enter(project: Path, *, testing: bool) -> None:
    """Return in an environment with every package of the project, after starting the program again if need be.

    `testing` asks for the test block of the requirements too. Ends the program with a sentence when it cannot be done.
    """
    shop = Workshop(project)
    started_again = os.environ.pop(AGAIN, None)  # not for programs that this one starts
    if shop.ready if _inside(shop) else has_all(shop.requirements, testing=testing):
        return
    if started_again:
        sys.exit(f"{sys.executable} does not see the packages in {shop.venv}. Unset PYTHONHOME, or delete that folder.")
    try:
        prepare(shop)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"Could not make {shop.venv}: {error}")
    sys.stdout.flush()
    os.execve(shop.python, [str(shop.python), *sys.orig_argv[1:]], {**os.environ, AGAIN: "1"})


def has_all(requirements: Path, *, testing: bool) -> bool:
    """Whether the running interpreter has every pin of the wanted blocks, in exactly that version."""
    wanted = requirements.read_text()
    if not testing:
        wanted = wanted.partition("# == test ==")[0]
    return all(_installed(*pin.split("==")) for pin in _pins(wanted))


def prepare(shop: Workshop) -> None:
    """Bring .venv up to date; several starts at once wait for the one that does it."""
    made_before = shop.ready  # asked before the lock, which a user who only runs it, as cron's, may not write
    if made_before:
        return
    with _lock(shop) as state:
        if shop.ready:
            return
        _require_venv()
        broken = state.read() == MAKING or not os.access(shop.python, os.X_OK)
        _note(state, MAKING)
        if broken:
            _make_venv(shop)
        _install(shop)
        (shop.venv / STAMP).write_text(shop.fingerprint)
        _note(state, b"")


def _inside(shop: Workshop) -> bool:
    return shop.venv.is_dir() and shop.venv.samefile(sys.prefix)


def _pins(requirements: str) -> list[str]:
    lines = (line.partition("#")[0].strip() for line in requirements.splitlines())
    return [line for line in lines if line]


def _installed(name: str, version: str) -> bool:
    try:
        return metadata.version(name) == version
    except metadata.PackageNotFoundError:
        return False


@contextmanager
def _lock(shop: Workshop) -> Iterator[IO[bytes]]:
    """Be the only start that changes .venv; yields the lock file, whose content outlives a kill."""
    with (shop.project / ".venv.lock").open("a+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Another start is making .venv; waiting for it.", flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        yield file


def _note(file: IO[bytes], state: bytes) -> None:
    file.seek(0)
    file.truncate()
    file.write(state)
    file.flush()


def _require_venv() -> None:
    """Debian leaves these parts of Python's standard library out of its python3 package."""
    missing = [name for name in ("venv", "ensurepip") if importlib.util.find_spec(name) is None]
    if missing:
        sys.exit(
            f"This Python ({sys.executable}) lacks its module {' and '.join(missing)}, needed to make .venv.\n"
            "On Debian and Ubuntu: apt-get install python3-venv. Elsewhere: use a complete Python 3.11 or newer."
        )


def _make_venv(shop: Workshop) -> None:
    print(f"Making {shop.venv} (once).", flush=True)
    if shop.venv.exists():
        shutil.rmtree(shop.venv)
    # Not sys.executable: it may be the one in the folder just removed.
    python = getattr(sys, "_base_executable", sys.executable)
    subprocess.run([python, "-m", "venv", str(shop.venv)], check=True)


def _install(shop: Workshop) -> None:
    """Run pip, showing a line a package; what else it says is shown only when it fails."""
    total = len(_pins(shop.requirements.read_text()))
    print(f"Installing {total} packages from {shop.requirements.name} (once; a few minutes).", flush=True)
    pip = [str(shop.python), "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--progress-bar=off"]
    process = subprocess.Popen(
        [*pip, "-r", shop.requirements.name],
        cwd=shop.project,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**os.environ, "PIP_USER": "0", "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    said = _show(process.stdout, total)
    if process.wait() != 0:
        sys.exit("pip could not install the packages. Its last words:\n" + "\n".join(said[-TAIL_LINES:]))


def _show(lines: IO[str], total: int) -> list[str]:
    """Print progress from pip's output as it comes; returns all of it."""
    said: list[str] = []
    met: set[str] = set()
    for line in map(str.rstrip, lines):
        said.append(line)
        named = PACKAGE.match(line)
        if named and named[1] not in met:
            met.add(named[1])
            print(f"  [{len(met)}/{total}] {named[1]}", flush=True)
        elif line.startswith("Installing collected packages"):
            print("  Unpacking them; this takes longest.", flush=True)
    return said
