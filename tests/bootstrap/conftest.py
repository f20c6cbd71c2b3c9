"""Folders that every user of the machine can reach, and another user to start things as."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.embedded.account import Account

NOBODY = 65534


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder anyone can reach: pytest's own tmp_path is closed to all but its owner."""
    made = Path(tempfile.mkdtemp(prefix="assize-test-", dir="/tmp"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture
def deep(folder: Path) -> Path:
    """A folder whose path is longer than a socket's may be, with a blank and an umlaut in it."""
    made = folder / "a rather long näme" / ("deep" * 30)
    made.mkdir(parents=True)
    return made


@pytest.fixture
def nobody() -> Account:
    """An ordinary user to become; only root can."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user: run the suite as root too")
    return Account(NOBODY, NOBODY, "nobody")


@pytest.fixture
def python(nobody: Account) -> Path:
    """A complete Python >= 3.11 that the ordinary user can run."""
    for candidate in (Path(sys.executable).resolve(), Path("/usr/bin/python3")):
        try:
            asked = nobody.run([candidate, "-c", "import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))"])
        except OSError:
            continue
        if asked.returncode == 0:
            return candidate
    pytest.skip("user nobody can run no Python >= 3.11 here: apt-get install python3-venv")
