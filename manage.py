#!/usr/bin/env python3
"""The project's commands. On its first start it makes the environment they need: see config/bootstrap.py."""

import os
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parent

if sys.version_info < (3, 11):
    sys.exit("Assize needs Python 3.11 or newer; this is %d.%d (%s)." % (*sys.version_info[:2], sys.executable))


def main() -> None:
    """Settle what Django cannot, then hand over to it, or to pytest for `test`."""
    from config import bootstrap

    command, arguments = sys.argv[1:2], sys.argv[2:]
    bootstrap.enter(PROJECT, testing=command == ["test"])
    if command == ["test"]:
        sys.exit(run_tests(arguments))

    from config import launch

    launch.prepare(sys.argv[1:])
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

    from django.core.management import execute_from_command_line
    from django.db import OperationalError, ProgrammingError

    try:
        execute_from_command_line(sys.argv)
    except OperationalError as error:
        sys.exit(launch.unreachable(error))
    except ProgrammingError as error:
        if launch.without_tables(error):
            sys.exit(launch.NO_TABLES)
        raise


def run_tests(arguments: list[str]) -> int:
    """Run pytest instead of Django's runner; paths are relative to the project. Returns its exit code."""
    import pytest

    os.chdir(PROJECT)
    return int(pytest.main(arguments))


if __name__ == "__main__":
    main()
