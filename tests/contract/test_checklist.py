"""Every row of the page's table of races names tests that exist."""

import re
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
ROWS = 13
"""As many as queue.md §5 has."""


def test_every_race_has_its_tests():
    section = (PROJECT / "docs" / "contract.md").read_text().partition("## Races\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")][1:]
    there = {name for file in (PROJECT / "tests").rglob("test_*.py") for name in re.findall(r"def (test_\w+)", file.read_text())}
    there |= {name for file in (PROJECT / "tests/contract/cases").glob("*.py") for name in re.findall(r"def (test_\w+)", file.read_text())}

    named = [re.findall(r"`(test_\w+)`", row) for row in rows]

    assert len(rows) == ROWS
    assert all(named)
    assert {name for names in named for name in names} - there == set()
