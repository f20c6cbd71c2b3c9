"""`python -m config.embedded status|start|stop|psql [HOME]`: look after the embedded PostgreSQL by hand."""

import argparse
import os
import signal
import sys
from pathlib import Path

from config import launch
from config.embedded import Impossible, binaries, ensure, holding, running
from config.embedded.place import NAME, reach


def main() -> None:
    """Do what the command line says; exit 1 when it cannot be done."""
    parser = argparse.ArgumentParser(prog="python -m config.embedded", description=__doc__)
    parser.add_argument("verb", choices=[*VERBS, "keep"])
    parser.add_argument("home", nargs="?", type=Path, default=launch.data_folder() / "postgres")
    asked = parser.parse_args()
    try:
        {**VERBS, "keep": holding.keep}[asked.verb](asked.home)
    except Impossible as reason:
        sys.exit(str(reason))


def status(home: Path) -> None:
    """Say whether it runs and where."""
    print(f"running: {reach(home).url}" if running(home) else f"not running: {home}")


def start(home: Path) -> None:
    """Hold it until Ctrl-C or a TERM."""
    print(f"{ensure(home)}\nRuns until this command ends (Ctrl-C).", flush=True)
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    signal.sigwait(ENDS)


def stop(home: Path) -> None:
    """Stop it, if nobody uses it."""
    if home.exists() and not holding.stop_unused(home):
        raise Impossible("In use by another command. End that first.")


def psql(home: Path) -> None:
    """Open a prompt on it; it runs as long as the prompt is open."""
    ensure(home)
    place = reach(home)
    program = binaries.find(place.account).folder / "psql"
    os.spawnv(os.P_WAIT, program, ["psql", "-h", str(place.socket_folder), "-U", NAME, NAME])


ENDS = {signal.SIGINT, signal.SIGTERM}
VERBS = {"status": status, "start": start, "stop": stop, "psql": psql}

if __name__ == "__main__":
    main()
