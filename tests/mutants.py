"""Plant violations of the queue's rules, one by one, and require that the suite notices each.

    python tests/mutants.py                    all of them
    python tests/mutants.py sweep lock         those whose rule has one of these words
    python tests/mutants.py --resume           those an earlier run has not reached, or that nothing noticed
    python tests/mutants.py --write docs/contract.md    and put the table there

Each lies in tests/mutants/*.toml as a rule and a text in place of another. It is planted in a copy of the tree, never
here. A mutant that no test notices, or whose text is not there any more, makes the exit code 1. Not part of the suite.

The test that noticed a mutant last is asked first, then those whose sentences have most words of the rule, and the whole
suite only when they say nothing: most take seconds. tests/mutants/killers.toml, which this writes, says who noticed which;
it is advice, not a verdict.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PROJECT))

from config import embedded, launch  # noqa: E402 - found by the line above

PLANTED = PROJECT / "tests" / "mutants"
KILLERS = PLANTED / "killers.toml"
SUITE = ["tests/contract/test_postgres.py", "tests/queue", "tests/ledger/test_append_only.py", "tests/machine", "tests/kill"]
"""The quick and telling ones first: most are noticed by the contract, and the kill tests take longest."""
SECONDS = 1800
"""For one run of the suite, which takes two minutes on an idle machine."""
LIBRARIES = [
    "django.test",
    "django.core.management",
    "django.contrib.admin",
    "psycopg_pool",
    "hypothesis.stateful",
    "pytest_django.plugin",
    "django.db.backends.postgresql.base",
    "structlog",
    "jwt",
    "msgspec",
    "unfold",
    "drf_spectacular.utils",
    "cryptography.hazmat.primitives.asymmetric.ed25519",
    "uvicorn",
    "time_machine",
    "websockets.sync.client",
]
"""Loaded once, for all runs."""
FORKED = multiprocessing.get_context("fork")
FEWER = 4
"""What pytest exits with when a test it was asked for is not there any more."""
LIKELY = 8
"""How many tests are asked because of their sentences, before the suite is."""
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
        files = sorted(place.glob("*.py"), reverse=True) if place.is_dir() else [place] * place.is_file()
        found = next((file for file in files if self.old in file.read_text()), None)
        if found is None or found.read_text().count(self.old) != 1:
            raise LookupError(f"{self.file} does not have this text exactly once: {self.old!r}")
        return found


@dataclass(frozen=True)
class Mutant:
    """The rule that is broken, and by which texts."""

    rule: str
    edits: tuple[Edit, ...]

    @property
    def digest(self) -> str:
        """Another when any of its texts is: what was found of it holds no more."""
        return hashlib.sha256(repr(self).encode()).hexdigest()

    @property
    def in_database(self) -> bool:
        """Whether a database made without it lacks it."""
        return any("migrations" in edit.file for edit in self.edits)

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
    """What came of a mutant: the test that noticed it, as pytest names it, or why it is a fault."""

    mutant: Mutant
    killer: str
    fault: str
    seconds: float

    @property
    def told(self) -> str:
        """The test's sentence, or the fault."""
        return self.fault or f"`{self.killer.split('::')[-1].split('[')[0]}`"


class Memory:
    """What was found so far: who noticed which, for the next run, and what an interrupted run need not ask again.

    Also of which tree the suite is known to pass without any mutant.
    """

    def __init__(self, page: Path, *, anew: bool) -> None:
        self._page = page
        self._found: dict[str, str] = {} if anew or not page.exists() else json.loads(page.read_text())
        self.killers: dict[str, str] = tomllib.loads(KILLERS.read_text()) if KILLERS.exists() else {}

    def verdict(self, mutant: Mutant) -> Verdict | None:
        """What the earlier run found: None when it did not reach this one, or nothing noticed it."""
        killer = self._found.get(mutant.digest)
        return Verdict(mutant, killer, "", 0) if killer else None

    def is_sound(self, tree: Path) -> bool:
        """Whether the suite passed in this very tree."""
        return self._found.get("sound") == _content_of(tree)

    def keep_sound(self, tree: Path) -> None:
        """The suite has passed in this tree."""
        self._note("sound", _content_of(tree))

    def _note(self, of: str, what: str) -> None:
        self._found[of] = what
        self._page.write_text(json.dumps(self._found))

    def keep(self, verdict: Verdict) -> None:
        """Write it down at once: a run may be ended at any moment."""
        if not verdict.killer:
            return
        self._note(verdict.mutant.digest, verdict.killer)
        self.killers[verdict.mutant.rule] = verdict.killer
        known = sorted((json.dumps(rule, ensure_ascii=False), json.dumps(killer)) for rule, killer in self.killers.items())
        KILLERS.write_text("".join(f"{rule} = {killer}\n" for rule, killer in known))


def _words(sentence: str) -> set[str]:
    """Its words as far as they are compared: of four letters at most, which drops most endings."""
    return {word[:4] for word in re.findall(r"[a-z]+", sentence.lower()) if len(word) > 2 and word not in {"test", "the", "and"}}


def _content_of(tree: Path) -> str:
    files = sorted(file for file in tree.rglob("*.py") if file != tree / "tests" / "mutants.py")
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


class Suite:
    """The suite in the copied tree, with a database that is kept while no mutant has been made part of it."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree
        self._database: str | None = None
        self._tests: list[str] = []

    def likely(self, rule: str) -> list[str]:
        """The tests whose sentences have most words of this rule, rare words before common ones."""
        if not self._tests:
            _, printed = self._pytest([*SUITE, "--collect-only"])
            listed = dict.fromkeys(line.split("[")[0] for line in printed.splitlines() if "::" in line)
            self._tests = [test for test in listed if "test_killed_sessions" not in test]  # one sentence, and it takes minutes
        common = Counter(word for test in self._tests for word in _words(test.split("::")[-1]))
        weights = {test: sum(1 / common[word] for word in _words(test.split("::")[-1]) & _words(rule)) for test in self._tests}
        return sorted((test for test in self._tests if weights[test]), key=lambda test: -weights[test])[:LIKELY]

    def run(self, *first: str, planted: Mutant | None = None) -> tuple[int | None, str]:
        """Its exit code, None when it hung, and what it printed. These tests first; stops at the first failure."""
        there = [test for test in first if test and (self._tree / test.partition("::")[0]).exists()]
        code, printed = self._tested(there, planted) if there else (0, "")
        if code in {0, FEWER}:
            code, printed = self._tested(SUITE, planted)
        return code, printed

    def _tested(self, tests: list[str], planted: Mutant | None) -> tuple[int | None, str]:
        """The database serves again unless a mutant is part of it; one that was made for this mutant serves it again too."""
        within = planted.digest if planted is not None and planted.in_database else ""
        database = ["--reuse-db"] if self._database == within else ["--reuse-db", "--create-db"]
        code, printed = self._pytest([*tests, *database])
        self._database = within if code in {0, 1, FEWER} else None
        return code, printed

    def _pytest(self, arguments: list[str]) -> tuple[int | None, str]:
        """In a process that has all libraries already: to load them takes longer than most tests."""
        page = self._tree / "printed"
        process = FORKED.Process(target=_pytest_in, args=(self._tree, page, arguments))
        process.start()
        process.join(SECONDS)
        code = process.exitcode
        process.kill()
        process.join()
        return code, page.read_text(errors="replace") if code is not None else ""


def _pytest_in(tree: Path, page: Path, arguments: list[str]) -> None:
    """Run pytest in the copy, as if this process had begun there; what it prints goes to a file."""
    with page.open("wb") as printed:
        for stream in (1, 2):
            os.dup2(printed.fileno(), stream)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.chdir(tree)
    os.environ["COLUMNS"] = "400"
    sys.dont_write_bytecode = False  # the copy is thrown away, and to compile is half of a short run
    sys.path[:] = [str(tree), *(place for place in sys.path if not Path(place).is_relative_to(PROJECT) or ".venv" in place)]
    for name in [name for name in sys.modules if name.partition(".")[0] == "config"]:
        del sys.modules[name]
    sys.exit(int(pytest.main([*arguments, "-x", "-q", "-rfE", "-m", "not slow", "-p", "no:cacheprovider"])))


def mutants(words: list[str]) -> list[Mutant]:
    """Those whose rule has one of these words; all without any."""
    found = []
    for file in sorted(PLANTED.glob("*.toml")):
        if file == KILLERS:
            continue
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


def judged(mutant: Mutant, tree: Path, suite: Suite, first: str) -> Verdict:
    """Plant it, run the suite, say who noticed."""
    began = time.monotonic()
    try:
        with mutant.planted(tree):
            code, printed = suite.run(first, *suite.likely(mutant.rule), planted=mutant)
    except LookupError as missing:
        return Verdict(mutant, "", str(missing), 0)
    seconds = time.monotonic() - began
    if code is None:
        return Verdict(mutant, "", f"not decided within {SECONDS} s", seconds)
    failed = re.search(r"^FAILED (\S+::.+?)(?: - |$)", printed, re.MULTILINE)
    if code == 1 and failed:
        return Verdict(mutant, failed[1], "", seconds)
    fault = "survives" if code == 0 else f"the suite itself broke: {printed.strip().splitlines()[-1]}"
    return Verdict(mutant, "", fault, seconds)


def table(verdicts: list[Verdict]) -> str:
    """What is told in the documentation."""
    rows = [f"| {verdict.mutant.rule} | {verdict.told} |" for verdict in verdicts]
    killed = sum(not verdict.fault for verdict in verdicts)
    return "\n".join([f"{killed} of {len(verdicts)} violations are noticed.", "", "| Rule | Noticed by |", "|---|---|", *rows])


def write_into(page: Path, text: str) -> None:
    """Put the table between its marks."""
    before, _, rest = page.read_text().partition(BEGIN)
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}")


def all_judged(planted: list[Mutant], memory: Memory) -> list[Verdict]:
    """One verdict for each that memory has none of. Raises SystemExit when the suite fails without any."""
    verdicts = []
    for name in LIBRARIES:
        importlib.import_module(name)
    with copied_tree() as tree:
        suite = Suite(tree)
        if not memory.is_sound(tree):
            code, printed = suite.run()
            if code != 0:
                sys.exit(f"The suite fails without any mutant:\n{printed[-3000:]}")
            memory.keep_sound(tree)
        for mutant in sorted(planted, key=lambda one: one.in_database):  # a database serves those that are not part of one
            last = judged(mutant, tree, suite, memory.killers.get(mutant.rule, ""))
            memory.keep(last)
            verdicts.append(last)
            print(f"{last.seconds:5.0f} s  {mutant.rule}: {last.fault.upper() or last.killer}", flush=True)  # noqa: T201
    return verdicts


def options() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="only rules with one of these words")
    parser.add_argument("--resume", action="store_true", help="take what an earlier run noticed as it is")
    parser.add_argument("--write", metavar="PAGE", type=Path, help="put the table into this page")
    return parser.parse_args()


def main() -> int:
    """Run and tell; 0 when every mutant was noticed."""
    asked = options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the copy is removed and the suite ended
    folder = launch.data_folder() / "mutants"  # no other run's databases lie there
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["ASSIZE_DATA"] = str(folder)
    if not os.environ.get("DATABASE_URL"):
        embedded.export(folder / "postgres-test", durable=False)
    memory = Memory(folder / "found.json", anew=not asked.resume and not asked.words)
    planted = mutants(asked.words)
    known = {mutant: verdict for mutant in planted if asked.resume and (verdict := memory.verdict(mutant))}
    left = [mutant for mutant in planted if mutant not in known]
    known |= {verdict.mutant: verdict for verdict in (all_judged(left, memory) if left else [])}
    verdicts = [known[mutant] for mutant in planted]
    print(f"\n{table(verdicts)}")  # noqa: T201
    if asked.write:
        write_into(asked.write, table(verdicts))
    return int(any(verdict.fault for verdict in verdicts))


if __name__ == "__main__":
    sys.exit(main())
