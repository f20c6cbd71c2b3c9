"""Where the embedded server's files and its socket lie."""

import hashlib
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from config.embedded.account import Account, Impossible, account_for

NAME = "assize"  # of the database and of its only role
PORT = 5432  # names the socket file; no network port is opened
SOCKET_FOLDER_BYTES = 90  # the kernel ends socket paths at 107 bytes, /.s.PGSQL.5432.lock included


@dataclass(frozen=True, slots=True)
class Place:
    """A settled home: its folder (0700, the account's), the account, and the folder of the socket."""

    folder: Path
    account: Account
    socket_folder: Path

    @property
    def socket(self) -> Path:
        """The socket the server listens on."""
        return self.socket_folder / f".s.PGSQL.{PORT}"

    @property
    def url(self) -> str:
        """The address of the database, as libpq reads it."""
        return f"postgresql://{NAME}@/{NAME}?host={quote(str(self.socket_folder), safe='')}"


def settle(home: Path) -> Place:
    """Make the home, in another place with a link to it when root's account cannot reach this one. Lock first."""
    home.parent.mkdir(parents=True, exist_ok=True)
    account = account_for(home)
    folder = home.resolve() if home.is_symlink() else home.absolute()
    fresh = not folder.exists()
    _make(folder, account)
    if os.geteuid() == 0 and not account.reaches(folder):
        if not fresh and any(folder.iterdir()):
            raise Impossible(f"{folder} holds a database, but user '{account.name}' can no longer reach it.")
        folder = _elsewhere(home, account)
    return Place(folder, account, _socket_folder(folder, account))


def reach(home: Path) -> Place:
    """The place of a home that was settled before; makes and changes nothing."""
    folder = home.resolve()
    return Place(folder, account_for(folder), _socket_path(folder))


def wipe(place: Place, home: Path) -> None:
    """Delete the home and all that belongs to it. The server must be down and the lock held."""
    shutil.rmtree(place.folder, ignore_errors=True)
    if place.socket_folder != place.folder:
        shutil.rmtree(place.socket_folder, ignore_errors=True)
    if home.is_symlink():
        home.unlink()


def _make(folder: Path, account: Account) -> None:
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        if account.switch:
            os.chown(folder, account.uid, account.gid)
        owner = folder.stat().st_uid
    except PermissionError as error:
        raise Impossible(f"Cannot prepare {folder}: {error.strerror}.") from error
    if owner != account.uid:
        raise Impossible(f"{folder} belongs to user id {owner}, not to '{account.name}'. Remove it or set ASSIZE_DATA.")


def _elsewhere(home: Path, account: Account) -> Path:
    """A private folder every user can get to, with a link at `home`.

    The link is the claim: a folder of this name without one belongs to a home that was deleted, and is started anew.
    """
    folder = Path("/var/tmp") / f"assize-{_digest(home)}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    os.chown(folder, account.uid, account.gid)
    if not account.reaches(folder):
        raise Impossible(f"User '{account.name}' can reach neither {home} nor {folder}.")
    home.rmdir()
    home.symlink_to(folder)
    return folder


def _socket_path(folder: Path) -> Path:
    """The home itself, unless its path is too long for a socket or means something to libpq."""
    plain = re.fullmatch(r"/[A-Za-z0-9/_.+@ -]*", str(folder))
    if plain and len(os.fsencode(folder)) <= SOCKET_FOLDER_BYTES:
        return folder
    # Not TMPDIR: every command must find the same one, whatever its environment.
    return Path("/tmp") / f"assize-{_digest(folder)}"


def _socket_folder(folder: Path, account: Account) -> Path:
    path = _socket_path(folder)
    if path != folder:
        if path.is_symlink():
            raise Impossible(f"{path} is a link that somebody else may have laid. Remove it.")
        _make(path, account)
        path.chmod(0o700)
    return path


def _digest(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:12]
