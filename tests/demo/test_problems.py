"""The jury's programs of the demo's problems: contests/demo/problems."""

import subprocess
import sys

import pytest

from contests.demo.packages import PROBLEMS

CHECKER = PROBLEMS / "B" / "checker" / "checker.py"
INTERACTOR = PROBLEMS / "C" / "interactor" / "interactor.py"


def checked(tmp_path, output: str, *, answer: str = "2"):
    """The checker on the task to pay 6 with coins of 1, 3 and 4."""
    for name, text in (("in", "6 3\n1 3 4\n"), ("out", output), ("answer", answer)):
        (tmp_path / name).write_text(text)
    argv = [sys.executable, CHECKER, *(tmp_path / name for name in ("in", "out", "answer"))]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("output", "code"),
    [
        ("2\n3 3\n", 0),
        ("  2 3   3", 0),
        ("3\n4 1 1\n", 7),
        ("2\n3 4\n", 1),
        ("2\n5 1\n", 1),
        ("3\n3 3\n", 1),
        ("", 1),
        ("two coins", 1),
        ("2 3 3 0", 1),
        ("9" * 10_000, 1),
    ],
)
def test_a_way_of_paying_is_best_longer_or_wrong(tmp_path, output, code):
    seen = checked(tmp_path, output)

    assert seen.returncode == code
    assert seen.stderr == ("points 0.5\n" if code == 7 else "")


def test_a_jury_that_missed_the_best_is_told(tmp_path):
    assert checked(tmp_path, "2\n3 3\n", answer="3").returncode == 3


def conversation(tmp_path, *lines: str, secret: int = 42):
    (tmp_path / "in").write_text(f"{secret}\n")
    argv = [sys.executable, INTERACTOR, tmp_path / "in"]
    return subprocess.run(argv, input="".join(f"{line}\n" for line in lines), capture_output=True, text=True, check=False)


def test_a_number_that_is_found_in_time_is_right(tmp_path):
    seen = conversation(tmp_path, "50", "40", "42")

    assert (seen.returncode, seen.stdout.split()) == (0, ["<", ">", "="])


@pytest.mark.parametrize("lines", [[], ["7"], ["x"], ["1"] * 30, ["9" * 5000], ["7", ""]])
def test_a_number_that_is_not_found_in_time_is_wrong(tmp_path, lines):
    assert conversation(tmp_path, *lines).returncode == 1
