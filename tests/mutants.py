"""Plant violations of the queue's rules, one by one, and require that the suite notices each.

    python tests/mutants.py                    all of them
    python tests/mutants.py sweep lock         those whose rule has one of these words
    python tests/mutants.py --write docs/contract.md    and put the table there

Each lies in tests/mutants/*.toml as a rule and a text in place of another. It is planted in a copy of the tree, never
here. A mutant that no test notices, or whose text is not there any more, makes the exit code 1. Not part of the suite.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PROJECT))

from config import embedded, launch  # noqa: E402 - found by the line above

PLANTED = PROJECT / "tests" / "mutants"
SUITE = ["tests/contract/test_postgres.py", "tests/queue", "tests/machine", "tests/kill", "tests/ledger/test_append_only.py"]
SECONDS = 900
"""For one run of the suite, which takes two minutes on an idle machine."""
BEGIN, END = "<!-- mutants -->", "<!-- end of mutants -->"


@dataclass(frozen=True)
class Edit:
    """One text in place of another. A folder means the last of its files that has the text."""

    file: str
    old: str
    new: str

    def target(self, tree: Path) -> Path:
        """The file it goes into. Raises LookupError when the text is not there exactly once."""
        place = tree / self.file
        files = sorted(place.glob("*.py"), reverse=True) if place.is_dir() else [place]
        found = next((file for file in files if self.old in file.read_text()), None)
        if found is None or found.read_text().count(self.old) != 1:
            raise LookupError(f"{self.file} does not have this text exactly once: {self.old!r}")
        return found


@dataclass(frozen=True)
class Mutant:
    """The rule that is broken, and by which texts."""

    rule: str
    edits: tuple[Edit, ...]

    @contextmanager
    def planted(self, tree: Path) -> Iterator[None]:
        """The tree with the rule broken. Raises LookupError."""
        before: dict[Path, str] = {}
        try:
            for edit in self.edits:
                file = edit.target(tree)
                before.setdefault(file, file.read_text())
                file.write_text(file.read_text().replace(edit.old, edit.new))
            yield
        finally:
            for file, text in before.items():
                file.write_text(text)


@dataclass(frozen=True)
class Verdict:
    """What came of a mutant: the test that noticed it, or why it is a fault."""

    mutant: Mutant
    killer: str
    fault: str
    seconds: float


def mutants(words: list[str]) -> list[Mutant]:
    """Those whose rule has one of these words; all without any."""
    found = []
    for file in sorted(PLANTED.glob("*.toml")):
        for entry in tomllib.loads(file.read_text())["mutant"]:
            edits = [Edit(one["file"], one["old"], one["new"]) for one in (entry, *entry.get("also", ()))]
            if not words or any(word in entry["rule"] for word in words):
                found.append(Mutant(entry["rule"], tuple(edits)))
    return found


@contextmanager
def copied_tree() -> Iterator[Path]:
    """A copy of what git knows or would know, to plant in."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], cwd=PROJECT, check=True, capture_output=True, text=True
    )
    with tempfile.TemporaryDirectory(prefix="assize-mutants-") as folder:
        for name in filter(None, listed.stdout.split("\0")):
            source, place = PROJECT / name, Path(folder) / name
            if source.is_file():
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, place)
        yield Path(folder)


def run_suite(tree: Path) -> tuple[int | None, str]:
    """The suite's exit code, None when it hung, and what it printed. Stops at the first failure."""
    command = [sys.executable, "-B", "-m", "pytest", *SUITE, "-x", "-q", "-rfE", "-m", "not slow", "-p", "no:cacheprovider"]
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "400"}
    process = subprocess.Popen(command, cwd=tree, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        printed, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return None, ""
    finally:
        process.kill()
        process.wait()
    return process.returncode, printed


def judged(mutant: Mutant, tree: Path) -> Verdict:
    """Plant it, run the suite, say who noticed."""
    began = time.monotonic()
    try:
        with mutant.planted(tree):
            code, printed = run_suite(tree)
    except LookupError as missing:
        return Verdict(mutant, "", str(missing), 0)
    seconds = time.monotonic() - began
    if code is None:
        return Verdict(mutant, "", f"not decided within {SECONDS} s", seconds)
    failed = re.search(r"^FAILED (\S+)::(\S+)", printed, re.MULTILINE)
    if code == 1 and failed:
        return Verdict(mutant, failed[2].split("::")[-1].split("[")[0], "", seconds)
    fault = "survives" if code == 0 else f"the suite itself broke: {printed.strip().splitlines()[-1]}"
    return Verdict(mutant, "", fault, seconds)


def table(verdicts: list[Verdict]) -> str:
    """What is told in the documentation."""
    rows = [f"| {verdict.mutant.rule} | {verdict.fault or f'`{verdict.killer}`'} |" for verdict in verdicts]
    killed = sum(not verdict.fault for verdict in verdicts)
    return "\n".join([f"{killed} of {len(verdicts)} violations are noticed.", "", "| Rule | Noticed by |", "|---|---|", *rows])


def write_into(page: Path, text: str) -> None:
    """Put the table between its marks."""
    before, _, rest = page.read_text().partition(BEGIN)
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}")


def main() -> int:
    """Run and tell; 0 when every mutant was noticed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="only rules with one of these words")
    parser.add_argument("--write", metavar="PAGE", type=Path, help="put the table into this page")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the copy is removed and the suite ended
    os.environ["ASSIZE_DATA"] = str(launch.data_folder())
    if not os.environ.get("DATABASE_URL"):
        embedded.export(launch.data_folder() / "postgres-test", durable=False)
    with copied_tree() as tree:
        code, printed = run_suite(tree)
        if code != 0:
            print(f"The suite fails without any mutant:\n{printed[-3000:]}")  # noqa: T201
            return 2
        verdicts = []
        for mutant in mutants(options.words):
            verdicts.append(judged(mutant, tree))
            last = verdicts[-1]
            print(f"{last.seconds:5.0f} s  {last.mutant.rule}: {last.fault.upper() or last.killer}", flush=True)  # noqa: T201
    print(f"\n{table(verdicts)}")  # noqa: T201
    if options.write:
        write_into(options.write, table(verdicts))
    return int(any(verdict.fault for verdict in verdicts))


if __name__ == "__main__":
    sys.exit(main())
