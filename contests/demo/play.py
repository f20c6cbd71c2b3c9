"""What happens in the demo: programs are sent in, a runner is killed over one, all are watched to their verdicts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from contests.demo.caller import Caller, Unexpected
from contests.demo.solutions import PATIENT, Solution

POLL_SECONDS = 0.4
SILENCE_SECONDS = 90.0
"""When nothing changes for so long, something is wrong."""

INTO_IT_SECONDS = 1.5
"""The plug is pulled so long after the hand-out: in the middle of judging."""


class Killer(Protocol):
    """Who can pull the plug of a runner."""

    def pull_the_plug(self, name: str) -> None:
        """SIGKILL this one, and start it afresh."""

    def must_live(self) -> None:
        """Raise when a program of the play ended by itself."""


@dataclass(slots=True)
class Entry:
    """One submission of the play, as the API told of it last."""

    solution: Solution
    document: dict[str, Any]

    @property
    def attempt(self) -> dict[str, Any]:
        """The newest attempt."""
        newest: dict[str, Any] = self.document["attempts"][0]
        return newest

    @property
    def state(self) -> str:
        """Where it stands."""
        return str(self.document["state"])

    @property
    def verdict(self) -> str:
        """The runner's word, empty until there is one."""
        return str(self.document.get("verdict", ""))

    @property
    def settled(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.state not in ("queued", "running")

    @property
    def right(self) -> bool:
        """Whether it got what it deserves."""
        return self.verdict == self.solution.verdict

    @property
    def history(self) -> list[dict[str, Any]]:
        """The hand-outs of the newest attempt, oldest first."""
        return list(self.attempt.get("history", []))

    @property
    def runner(self) -> str:
        """Who has it, or had it last; empty before the first hand-out."""
        return str(self.history[-1].get("runner", "")) if self.history else ""

    @property
    def seconds(self) -> float | None:
        """From sending in to the end, by the server's clock; None before."""
        if "finishedAt" not in self.attempt:
            return None
        begun, ended = (datetime.fromisoformat(moment) for moment in (self.document["createdAt"], self.attempt["finishedAt"]))
        return (ended - begun).total_seconds()


@dataclass(slots=True)
class Recovery:
    """A runner is killed over one submission, and the submission must not notice."""

    entry: Entry
    killer: Killer
    say: Callable[[str], None]
    killed: str = ""
    _held_since: float = field(default=0.0)

    def look(self) -> None:
        """Kill the holder once it is in the middle of judging."""
        if self.killed or self.entry.state != "running":
            self._held_since = 0.0
            return
        self._held_since = self._held_since or time.monotonic()
        if time.monotonic() - self._held_since >= INTO_IT_SECONDS:
            self.killed = self.entry.runner
            self.say(f"Killing runner {self.killed} (SIGKILL) while it judges {name_of(self.entry.solution)}.")
            self.killer.pull_the_plug(self.killed)
            self.say(f"Started {self.killed} afresh. The job comes back when its lease runs out, within 10 seconds.")

    @property
    def happened(self) -> bool:
        """Same job, attempt 1, the first hand-out expired with its runner, and a later one brought the verdict."""
        attempt, history = self.entry.attempt, self.entry.history
        if not self.killed or len(self.entry.document["attempts"]) != 1 or len(history) < 2:
            return False
        lost = history[0].get("runner") == self.killed and history[0].get("ending") == "expired"
        return lost and attempt["attempt"] == 1 and attempt["deliveries"] >= 2 and self.entry.right

    @property
    def told(self) -> str:
        """What became of it, in a sentence."""
        what = name_of(self.entry.solution)
        if not self.killed:
            return f"Recovery NOT SEEN: {what} was judged before its runner could be killed."
        if not self.happened:
            ended = f"{self.entry.state} {self.entry.verdict}".strip()
            return f"Recovery FAILED: {self.killed} was killed over {what}, which ended as {ended}."
        heir = self.entry.runner
        who = f"{heir}, started afresh," if heir == self.killed else heir
        return (
            f"Recovery: {self.killed} was killed while it judged {what}. When the lease ran out the same job, "
            f"attempt 1, went to {who} as delivery {self.entry.attempt['deliveries']}; nobody had to do anything."
        )


def name_of(solution: Solution) -> str:
    """A program with its problem, such as A/sum.py."""
    return f"{solution.problem}/{solution.file}"


def send_all(student: Caller, activity: str, solutions: Iterable[Solution]) -> list[Entry]:
    """Send every program in, the patient one first."""
    ordered = sorted(solutions, key=lambda solution: solution is not PATIENT)
    return [Entry(solution, student.send(activity, solution)) for solution in ordered]


def watch(entries: list[Entry], *, look: Callable[[], dict[str, dict[str, Any]]], each: Callable[[], None]) -> None:
    """Look again and again until all are settled; `each` is called after every look. Raises Unexpected on silence."""
    changed_at = time.monotonic()
    while not all(entry.settled for entry in entries):
        seen = look()
        for entry in entries:
            before, entry.document = entry.document, seen.get(entry.document["id"], entry.document)
            if entry.document != before:
                changed_at = time.monotonic()
        each()
        if time.monotonic() - changed_at > SILENCE_SECONDS:
            left = ", ".join(name_of(entry.solution) for entry in entries if not entry.settled)
            raise Unexpected(f"Nothing happened for {SILENCE_SECONDS:.0f} s; still waiting for {left}.")
        time.sleep(POLL_SECONDS)
