"""Which operating system user the embedded server runs as."""

import os
import pwd
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict


class Impossible(Exception):
    """The embedded PostgreSQL cannot run here; the message says what to do about it."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason}\nOr use a PostgreSQL of your own: set DATABASE_URL.")


class Switch(TypedDict, total=False):
    """The arguments of `subprocess` that change the user."""

    user: int
    group: int
    extra_groups: list[int]


@dataclass(frozen=True, slots=True)
class Account:
    """A user of this machine; initdb refuses root and anyone without a passwd entry."""

    uid: int
    gid: int
    name: str

    @property
    def switch(self) -> Switch:
        """What `subprocess` needs to become this user; empty when we are it."""
        if self.uid == os.geteuid():
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def run(self, argv: Sequence[str | Path], *, feed: str = "") -> subprocess.CompletedProcess[str]:
        """Run a program to its end as this user. Raises OSError when the user cannot reach it."""
        return subprocess.run(
            [str(part) for part in argv],
            input=feed,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd="/",
            env=ENVIRONMENT,
            check=False,
            **self.switch,
        )

    def reaches(self, folder: Path) -> bool:
        """Whether this user can enter the folder and write in it."""
        return self.run(["/bin/sh", "-c", '[ -w "$1" ] && cd "$1"', "sh", folder]).returncode == 0


# Nothing of the caller's: PGDATA, PGOPTIONS or a locale would change the server. UTC is what initdb then writes down.
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}


def account_for(home: Path) -> Account:
    """Ourselves, or for root the owner of `home`, else `postgres`, else `nobody`."""
    uid = os.geteuid()
    if uid != 0:
        return _known(uid)
    if home.exists() and home.stat().st_uid != 0:
        return _known(home.stat().st_uid)
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid, name)
    raise Impossible("PostgreSQL refuses to run as root, and this machine has neither a user 'postgres' nor 'nobody'.")


def _known(uid: int) -> Account:
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        raise Impossible(
            f"User id {uid} has no name on this machine, and PostgreSQL refuses such users. As root:\n"
            f"  echo 'assize:x:{uid}:{os.getgid()}::/:/bin/sh' >> /etc/passwd"
        ) from None
    return Account(entry.pw_uid, entry.pw_gid, entry.pw_name)
