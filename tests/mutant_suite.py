"""The suite that is to notice the violations, in processes that have all libraries already."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import re
import signal
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.mutant_texts import PROJECT, Mutant

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


def _words(sentence: str) -> set[str]:
    """Its words as far as they are compared: of four letters at most, which drops most endings."""
    return {word[:4] for word in re.findall(r"[a-z]+", sentence.lower()) if len(word) > 2 and word not in {"test", "the", "and"}}


class Suite:
    """The suite in the copied tree, with a database that is kept while no mutant has been made part of it."""

    def __init__(self, tree: Path) -> None:
        for name in LIBRARIES:
            importlib.import_module(name)
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

    def there(self, *tests: str) -> list[str]:
        """Those whose files are."""
        return [test for test in tests if test and (self._tree / test.partition("::")[0]).exists()]

    def run(self, tests: list[str], planted: Mutant | None = None) -> tuple[int | None, str]:
        """Its exit code, None when it hung, and what it printed. Stops at the first failure.

        The database serves again unless a mutant is part of it; one that was made for this mutant serves it again too.
        """
        within = planted.digest if planted is not None and planted.in_database else ""
        database = ["--reuse-db"] if self._database == within else ["--reuse-db", "--create-db"]
        code, printed = self._pytest([*tests, *database])
        self._database = within if code in {0, 1, FEWER} else None
        return code, printed

    def _pytest(self, arguments: list[str]) -> tuple[int | None, str]:
        """In a process that has all libraries already: to load them takes longer than most tests."""
        page = self._tree / "printed"
        process = FORKED.Process(target=_pytest_in, args=(self._tree, page, arguments), daemon=True)
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
    for name in [name for name in sys.modules if name.partition(".")[0] in {"config", "tests"}]:
        del sys.modules[name]
    sys.exit(int(pytest.main([*arguments, "-x", "-q", "-rfE", "-m", "not slow", "-p", "no:cacheprovider"])))
