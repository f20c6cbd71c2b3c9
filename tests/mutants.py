"""Plant violations of the queue's rules, one by one, and require that the suite notices each.

    python tests/mutants.py                    all of them
    python tests/mutants.py sweep lock         those whose rule has one of these words
    python tests/mutants.py --resume           those an earlier run has not reached, or that nothing noticed
    python tests/mutants.py --known            none: tell what the runs so far found
    python tests/mutants.py --write docs/contract.md    and put the table there

Each lies in tests/mutants/*.toml as a rule and a text in place of another. It is planted in a copy of the tree, never
here. A mutant that no test notices, or whose text is not there any more, makes the exit code 1. Not part of the suite.

The test that noticed a mutant last is asked first, then those whose sentences have most words of the rule, and the whole
suite only when they say nothing: most take seconds. tests/mutants/killers.toml, which this writes, says who noticed which;
it is advice, not a verdict.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PROJECT))

from config import embedded, launch  # noqa: E402 - found by the line above
from tests.mutant_suite import FEWER, SECONDS, SUITE, Suite  # noqa: E402
from tests.mutant_texts import KILLERS, Mutant, content_of, copied_tree, mutants  # noqa: E402

SURVIVES = "survives"
BEGIN, END = "<!-- mutants -->", "<!-- end of mutants -->"


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
        return self._found.get("sound") == content_of(tree)

    def keep_sound(self, tree: Path) -> None:
        """The suite has passed in this tree."""
        self._note("sound", content_of(tree))

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


def judged(mutant: Mutant, tree: Path, suite: Suite, tests: list[str]) -> Verdict:
    """Plant it, run these tests, say who noticed."""
    began = time.monotonic()
    try:
        with mutant.planted(tree):
            code, printed = suite.run(tests, mutant)
    except LookupError as missing:
        return Verdict(mutant, "", str(missing), 0)
    seconds = time.monotonic() - began
    if code is None:
        return Verdict(mutant, "", f"not decided within {SECONDS} s", seconds)
    # The contract's audit after each case is an error of the case, unless nothing works: then no case has passed before it.
    noticed = re.search(r"^FAILED (\S+::.+?)(?: - |$)", printed, re.MULTILINE)
    if noticed is None and re.search(r"^\d+ passed", printed, re.MULTILINE):
        noticed = re.search(r"^ERROR (\S+::.+?)(?: - |$)", printed, re.MULTILINE)
    if code == 1 and noticed:
        return Verdict(mutant, noticed[1], "", seconds)
    fault = SURVIVES if code in {0, FEWER} else f"the suite itself broke: {printed.strip().splitlines()[-1]}"
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
    verdicts: dict[Mutant, Verdict] = {}
    with copied_tree() as tree:
        suite = Suite(tree)
        if not memory.is_sound(tree):
            code, printed = suite.run(SUITE)
            if code != 0:
                sys.exit(f"The suite fails without any mutant:\n{printed[-3000:]}")
            memory.keep_sound(tree)
        left = sorted(planted, key=lambda one: one.in_database)  # a database serves those that are not part of one
        quick = {mutant: suite.there(memory.killers.get(mutant.rule, ""), *suite.likely(mutant.rule)) for mutant in left}
        for tests_for in (quick, dict.fromkeys(left, SUITE)):
            for mutant in left:
                last = judged(mutant, tree, suite, tests_for[mutant])
                verdicts[mutant] = last
                memory.keep(last)
                whole = tests_for[mutant] is SUITE
                said = last.killer or (last.fault.upper() if whole or last.fault != SURVIVES else "none of the likely ones; see below")
                print(f"{last.seconds:5.0f} s  {mutant.rule}: {said}", flush=True)  # noqa: T201
            left = [mutant for mutant in left if verdicts[mutant].fault == SURVIVES]
    return list(verdicts.values())


def options() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="only rules with one of these words")
    parser.add_argument("--resume", action="store_true", help="take what an earlier run noticed as it is")
    parser.add_argument("--known", action="store_true", help="run nothing: tell what was found so far")
    parser.add_argument("--write", metavar="PAGE", type=Path, help="put the table into this page")
    return parser.parse_args()


def main() -> int:
    """Run and tell; 0 when every mutant was noticed."""
    asked = options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the copy is removed and the suite ended
    folder = launch.data_folder() / "mutants"  # no other run's databases lie there
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["ASSIZE_DATA"] = str(folder)
    memory = Memory(folder / "found.json", anew=not (asked.resume or asked.known or asked.words))
    planted = mutants(asked.words)
    known = {mutant: verdict for mutant in planted if (asked.resume or asked.known) and (verdict := memory.verdict(mutant))}
    left = [mutant for mutant in planted if mutant not in known]
    if asked.known:
        known |= {mutant: Verdict(mutant, "", "no run has come to it yet, or none noticed it", 0) for mutant in left}
        left = []
    if left and not os.environ.get("DATABASE_URL"):
        embedded.export(folder / "postgres-test", durable=False)
    known |= {verdict.mutant: verdict for verdict in (all_judged(left, memory) if left else [])}
    verdicts = [known[mutant] for mutant in planted]
    print(f"\n{table(verdicts)}")  # noqa: T201
    if asked.write:
        write_into(asked.write, table(verdicts))
    return int(any(verdict.fault for verdict in verdicts))


if __name__ == "__main__":
    sys.exit(main())
