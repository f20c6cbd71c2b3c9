"""What a command says of a database that it cannot work with: a sentence, and no traceback."""

import os
import subprocess
import sys

import pytest

from config import launch
from tests.front.conftest import empty_database

PRODUCTION = {
    "ASSIZE_SECRET_KEY": "k" * 20 + "0123456789-abcdefghijklmnopqrstuvwxyz",
    "ASSIZE_HOSTS": "judge.example",
    "ASSIZE_DB_POOL_WAIT": "1",
}
UNTOLD = {"DJANGO_SETTINGS_MODULE", "ASSIZE_TESTING", "ASSIZE_EMBEDDED"}


def told(command: str, address: str) -> str:
    """What a command that fails on this database says."""
    ours = {name: value for name, value in os.environ.items() if name not in UNTOLD}
    asked = [sys.executable, "manage.py", command]
    environment = {**ours, **PRODUCTION, "DATABASE_URL": address}
    done = subprocess.run(asked, cwd=launch.PROJECT, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.mark.parametrize("command", ["migrate", "prune"])
def test_a_database_that_does_not_answer_is_told_in_a_sentence(command):
    assert "The database that DATABASE_URL names could not be asked" in told(command, "postgresql://assize@127.0.0.1:1/assize")


def test_a_database_without_tables_is_told_what_to_do():
    with empty_database() as address:
        assert launch.NO_TABLES in told("prune", address)
