"""How a fresh clone makes its own environment, on a project of one small package and no network."""

import ast
import base64
import hashlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from config import bootstrap
from config.embedded.account import Account
from config.embedded.holding import PROJECT

PINS = "# == run ==\ntinything==1.0\n# == test ==\n"
START = """
import sys
from pathlib import Path
from config import bootstrap
bootstrap.enter(Path(__file__).parent, testing=False)
import tinything
print("inside", tinything.VERSION, sys.argv[1:])
"""


def build_wheel(folder: Path, version: str) -> None:
    """Write a wheel of the package `tinything` that knows its version."""
    info = f"tinything-{version}.dist-info"
    files = {
        "tinything.py": f"VERSION = '{version}'\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: tinything\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    digests = {name: base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode() for name, text in files.items()}
    record = [f"{name},sha256={digests[name]},{len(text)}" for name, text in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,"]) + "\n"
    with zipfile.ZipFile(folder / f"tinything-{version}-py3-none-any.whl", "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)


@pytest.fixture
def clone(deep: Path) -> Path:
    """A project as fresh from git, in a deep path, that needs one package."""
    (deep / "config").mkdir()
    (deep / "wheels").mkdir()
    shutil.copy(PROJECT / "config" / "bootstrap.py", deep / "config")
    (deep / "config" / "__init__.py").touch()
    (deep / "start.py").write_text(START)
    (deep / "requirements.txt").write_text(PINS)
    build_wheel(deep / "wheels", "1.0")
    return deep


def begin(clone: Path, *words: str, python: Path | None = None, account: Account | None = None) -> "subprocess.Popen[str]":
    """Start the project's program with the plain interpreter, offline."""
    plain = python or Path(getattr(sys, "_base_executable", sys.executable))
    return subprocess.Popen(
        [plain, "start.py", *words],
        cwd=clone,
        env={"PATH": os.environ["PATH"], "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": (clone / "wheels").as_uri()},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        **(account.switch if account else {}),
    )


def run(clone: Path, *words: str) -> str:
    """Start it and wait for its end; what it said."""
    process = begin(clone, *words)
    said, _ = process.communicate(timeout=90)
    assert process.returncode == 0, said
    return said


# One test for three behaviours: an environment takes seconds to make.
def test_the_first_start_installs_the_next_only_runs_and_changed_pins_are_added(clone):
    first = run(clone, "a b", "-x")
    second = run(clone)
    build_wheel(clone / "wheels", "2.0")
    (clone / "requirements.txt").write_text(PINS.replace("1.0", "2.0"))
    third = run(clone)

    assert "Making" in first
    assert "[1/1] tinything" in first
    assert first.endswith("inside 1.0 ['a b', '-x']\n")
    assert second == "inside 1.0 []\n"
    assert "Making" not in third
    assert third.endswith("inside 2.0 []\n")


@pytest.mark.slow
def test_a_start_killed_halfway_is_made_good(clone):
    killed = begin(clone)
    assert killed.stdout is not None
    assert any("Installing" in line for line in killed.stdout)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate()

    again = run(clone)

    assert "Making" in again
    assert again.endswith("inside 1.0 []\n")


@pytest.mark.slow
def test_an_environment_whose_interpreter_is_gone_is_made_anew(clone):
    (clone / ".venv" / "bin").mkdir(parents=True)
    (clone / ".venv" / "bin" / "python").symlink_to("/gone/python3")

    assert run(clone).endswith("inside 1.0 []\n")


@pytest.mark.slow
def test_of_two_starts_at_once_one_installs_and_both_run(clone):
    both = [begin(clone), begin(clone)]

    said = [process.communicate(timeout=90)[0] for process in both]

    assert all(text.endswith("inside 1.0 []\n") for text in said)
    assert sum("Making" in text for text in said) == 1


@pytest.mark.slow
def test_an_ordinary_user_can_start_it(clone, nobody, python):
    os.chown(clone, nobody.uid, nobody.gid)

    said, _ = begin(clone, python=python, account=nobody).communicate(timeout=90)

    assert said.endswith("inside 1.0 []\n")


@pytest.mark.slow
def test_what_one_user_installed_another_may_run_without_writing_anything(clone, nobody, python):
    begin(clone, python=python).communicate(timeout=90)

    said, _ = begin(clone, python=python, account=nobody).communicate(timeout=90)

    assert said == "inside 1.0 []\n"


def test_a_folder_one_may_not_write_in_is_named(clone, nobody, python):
    said, _ = begin(clone, python=python, account=nobody).communicate(timeout=90)

    assert "Could not make" in said
    assert "Permission denied" in said


@pytest.mark.slow
def test_pip_that_fails_is_quoted(clone):
    (clone / "requirements.txt").write_text("tinything==9.9\n")
    process = begin(clone)

    said, _ = process.communicate(timeout=90)

    assert process.returncode != 0
    assert "No matching distribution found for tinything==9.9" in said
    assert "Traceback" not in said


def test_an_environment_that_has_everything_is_used(tmp_path):
    (tmp_path / "requirements.txt").write_text("# == run ==\npytest==0\n".replace("==0", f"=={pytest.__version__}"))

    bootstrap.enter(tmp_path, testing=True)

    assert not (tmp_path / ".venv").exists()


def test_a_program_started_from_here_may_make_its_own_environment(tmp_path, monkeypatch):
    monkeypatch.setenv(bootstrap.AGAIN, "1")
    (tmp_path / "requirements.txt").write_text("")

    bootstrap.enter(tmp_path, testing=False)

    assert bootstrap.AGAIN not in os.environ


def test_the_test_block_is_asked_of_tests_alone(tmp_path):
    requirements = tmp_path / "requirements.txt"
    requirements.write_text(f"# == run ==\npytest=={pytest.__version__}\n# == test ==\nnot-installed==1.0\n")

    assert bootstrap.has_all(requirements, testing=False)
    assert not bootstrap.has_all(requirements, testing=True)


def test_another_version_is_not_good_enough(tmp_path):
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("pytest==0.1\n")

    assert not bootstrap.has_all(requirements, testing=True)


def test_a_python_without_venv_is_told_what_to_install(tmp_path, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "ensurepip" else found(name))
    (tmp_path / "requirements.txt").write_text("not-installed==1.0\n")

    with pytest.raises(SystemExit, match="apt-get install python3-venv"):
        bootstrap.enter(tmp_path, testing=False)


def test_an_old_python_can_read_as_far_as_its_refusal():
    ast.parse((PROJECT / "manage.py").read_text(), feature_version=(3, 7))


def test_every_pin_of_the_agent_is_one_of_ours():
    pins = {name: set(bootstrap._pins((PROJECT / name).read_text())) for name in ("requirements.txt", "requirements-agent.txt")}

    assert pins["requirements-agent.txt"] <= pins["requirements.txt"]


def test_every_requirement_is_an_exact_pin():
    assert [pin for pin in bootstrap._pins((PROJECT / "requirements.txt").read_text()) if pin.count("==") != 1] == []
