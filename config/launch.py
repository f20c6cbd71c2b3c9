"""What must be settled before Django reads its settings: the data folder, the demo's mode, the database.

Standard library only, so that `manage.py` and tests can use it early.
"""

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from config import embedded

PROJECT = Path(__file__).resolve().parent.parent

# Commands that never open the database; everything else gets it started.
WITHOUT_DATABASE = {"help", "version", "check", "collectstatic", "findstatic", "spectacular", "diffsettings"}
HELP = {"--help", "-h", "--version"}


def data_folder() -> Path:
    """Where database, files and the development secret lie: ASSIZE_DATA, else .data in the project."""
    return Path(os.environ.get("ASSIZE_DATA") or PROJECT / ".data").absolute()


def channel_max_bytes() -> int:
    """ASSIZE_CHANNEL_MAX_BYTES: the longest message and frame on the runner channel; the server's own worker asks too."""
    return int(os.environ.get("ASSIZE_CHANNEL_MAX_BYTES") or 4 * 1024 * 1024)


def prepare(argv: Sequence[str]) -> None:
    """Get this process's environment ready for a management command; ends the program when that is impossible."""
    command = argv[0] if argv else "help"
    try:
        if command == "demo":
            _prepare_demo(argv[1:])
        if command not in WITHOUT_DATABASE and not HELP & set(argv):
            start_database()
    except (embedded.Impossible, NotForThis) as reason:
        sys.exit(str(reason))


class NotForThis(Exception):
    """The command would harm what it is pointed at."""


def start_database() -> None:
    """Without a DATABASE_URL, run the embedded PostgreSQL for as long as this process lives."""
    if not os.environ.get("DATABASE_URL"):
        embedded.export(data_folder() / "postgres")


NO_TABLES = (
    "This database has no tables of Assize, or those of another version: run `manage.py migrate`, or set ASSIZE_DATA to the folder that"
    " was given to the demo's --data."
)
_MISSING = {"42P01", "42703", "42883"}
"""undefined_table, undefined_column, undefined_function."""


def unreachable(error: Exception) -> str:
    """What a command says when its database does not answer, or not in time."""
    where = "The private database" if os.environ.get("ASSIZE_EMBEDDED") == "1" else "The database that DATABASE_URL names"
    return f"{where} could not be asked: {str(error).strip()}"


def without_tables(error: Exception) -> bool:
    """Whether a database's error means that nobody has migrated it."""
    return getattr(error.__cause__, "sqlstate", None) in _MISSING


def _prepare_demo(arguments: Sequence[str]) -> None:
    """The demo's own options that come too late for Django: `--data DIR` and `--reset`."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--data")
    parser.add_argument("--reset", action="store_true")
    asked, _ = parser.parse_known_args(arguments)
    if os.environ.get("DATABASE_URL") and os.environ.get("ASSIZE_EMBEDDED") != "1" and not HELP & set(arguments):
        raise NotForThis(
            "The demo runs on a database of its own: it makes accounts whose passwords are published, and an installation would"
            " have them from then on. DATABASE_URL names another; leave it out, as in `env -u DATABASE_URL python3 manage.py demo`."
        )
    os.environ["ASSIZE_DEMO"] = "1"
    if asked.data:
        os.environ["ASSIZE_DATA"] = str(Path(asked.data).absolute())
    if asked.reset:
        embedded.destroy(data_folder() / "postgres")
        shutil.rmtree(data_folder() / "files", ignore_errors=True)
