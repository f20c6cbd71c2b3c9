"""Who uses the server, and when it may end.

Every user holds a shared lock on `held`, which the kernel takes back however the user dies. The last one to leave
stops the server; when it was killed instead, a keeper process does.
"""

import atexit
import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from config.embedded import server
from config.embedded.account import Impossible
from config.embedded.place import Place, reach, settle, wipe

PROJECT = Path(__file__).resolve().parents[2]
KEEPER_SECONDS = 1.0


@dataclass(slots=True)
class Hold:
    """This process's use of one home."""

    place: Place
    lock: IO[bytes]
    keeper: subprocess.Popen[bytes]


_holds: dict[Path, Hold] = {}


def ensure(home: Path, *, durable: bool = True) -> str:
    """Start the server in `home` unless it runs, hold it until `release` or this process's end; returns its URL.

    `durable=False` is for tests: faster, and lost with a power cut. Raises Impossible with a remedy.
    """
    home = home.absolute()
    if home in _holds:
        return _holds[home].place.url
    with _alone(home):
        place = settle(home)
        server.start(place, durable=durable)
        lock = (place.folder / "held").open("ab")
        fcntl.flock(lock, fcntl.LOCK_SH)
        _holds[home] = Hold(place, lock, _spawn_keeper(home))
    atexit.register(release, home)
    return place.url


def export(home: Path, *, durable: bool = True) -> None:
    """Ensure the server and make it the DATABASE_URL of this process and its children."""
    os.environ["DATABASE_URL"] = ensure(home, durable=durable)
    os.environ["ASSIZE_EMBEDDED"] = "1"


def release(home: Path | None = None) -> None:
    """Let go of the server, or of all this process holds; the last one to do so stops it and leaves no process behind."""
    if home is None:
        for held in list(_holds):
            release(held)
        return
    hold = _holds.pop(home.absolute(), None)
    if hold is None:
        return
    # Closing does not unlock while a forked process has the lock too: then that one is the last.
    hold.lock.close()
    if stop_unused(home):
        hold.keeper.terminate()
        hold.keeper.wait()


def stop_unused(home: Path) -> bool:
    """Stop the server unless somebody holds it; returns whether nobody does."""
    with _alone(home):
        place = reach(home)
        unused = _unused(place)
        if unused:
            server.stop(place)
        return unused


def destroy(home: Path) -> None:
    """Delete the database for good. Raises Impossible while it is in use."""
    if not stop_unused(home):
        raise Impossible(f"The database in {home} is in use by another command. End that first.")
    with _alone(home):
        wipe(reach(home), home)


def running(home: Path) -> bool:
    """Whether the server in `home` answers."""
    return server.accepts(reach(home))


def keep(home: Path) -> None:
    """The keeper's life: one at a time looks every second whether the last user is gone, stops the server, ends."""
    place = reach(home)
    seat = (place.folder / "keeper").open("ab")
    try:
        fcntl.flock(seat, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    while place.folder.is_dir():
        time.sleep(KEEPER_SECONDS)
        with _alone(home):
            if _unused(place):
                server.stop(place)
                # Still under the home's lock: whoever comes next brings a keeper, which must find the seat free.
                seat.close()
                return


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    """One process at a time starts, stops or deletes. The lock lies beside the home, which comes and goes."""
    file = home.absolute().with_name(f"{home.name}.lock")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        lock = file.open("ab")
    except OSError as error:
        raise Impossible(f"Cannot write in {file.parent} ({error.strerror}). Set ASSIZE_DATA to another folder.") from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _unused(place: Place) -> bool:
    """Whether nobody holds the server. Asked under the home's lock, so that nobody begins to meanwhile."""
    if not place.folder.is_dir():
        return True
    with (place.folder / "held").open("ab") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _spawn_keeper(home: Path) -> subprocess.Popen[bytes]:
    """Every user brings one, in a session of its own: the seat's owner may have been killed too."""
    return subprocess.Popen(
        [sys.executable, "-S", "-m", "config.embedded", "keep", str(home)],
        cwd=PROJECT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
