"""The machine: every verb of the queue in any order, told to the model and to the database at once.

Ids are drawn from all that were ever issued, foreign ones and ones nobody issued among them. Time goes in half minutes
and whatever ends does so on a half minute or ten seconds beside it, so that what the database's clock goes on by itself
decides nothing: deadlines that both clocks meet at once are met by the database's a moment later, as they were set.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from django.test import TransactionTestCase
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.contract.interface import CONTEST, JURY, PRACTICE, URGENT, Handout, Id, Receipt
from tests.machine.soundness import assert_sound
from tests.machine.twins import Twins

T = TypeVar("T")
MOST_THREADS = 8
"""Open work of one example; fewer than a claim of ours looks (judging/queue/claim.py), so that it meets all that lapsed."""
MOST_RUNNERS = 7
MINUTE = 60
SECONDS = [None, None, 60, 300, 3600]
KEYS = [None, None, "k", "l"]
POOLS: list[tuple[str, ...]] = [("default", "finals"), ("default", "finals"), ("finals",), ()]
HELD = ["report", "report", "broken", "broken", "release", "renew", "progress", "outside", "attach", "undo"]
WRONG = ["job", "token", "runner", "no token", "unknown token", "unknown job"]
OPERATIONS = ["rejudge", "rejudge", "urgent", "urgent", "cancel", "give back", "void", "prioritise", "delete", "forget", "all of"]
WORLD = ["revoke", "approve", "retag", "reroute", "pause", "resume", "resume", "draining", "on", "off", "on", "prune"]
SAID = ["start", "start", "beat", "take_up", "lose", "finish", "finish", "in course", "fail", "abandon"]
VERDICTS = ["Accepted", "Accepted", "Wrong answer", "", None]
CHANNEL = 4 * ["claim on channel"] + 5 * ["run"] + 2 * ["run wrongly"] + 2 * ["beat on"] + 2 * ["process"]
STEPS = (
    CHANNEL
    + 5 * ["claim"]
    + 5 * ["hold"]
    + 4 * ["submit"]
    + 4 * ["operate"]
    + 3 * ["wait"]
    + 2 * ["hold wrongly"]
    + 2 * ["world"]
    + ["sweep"]
)


def pick(things: Sequence[T], which: int) -> T:
    """One of what there is, the newest for 0."""
    return things[-1 - which % len(things)]


class QueueMachine(RuleBasedStateMachine):
    """`clock` is put here by the test that runs it: the movable clock of the database.

    One rule, weighted by hand: left to itself hypothesis leaves whole rules out of an example, and few examples must do.
    """

    clock: Any

    @initialize()
    def begin(self) -> None:
        self.twins = Twins(self.clock)
        make, do = self.twins.make, self.twins.do
        self.lanes = [
            make("lane", priority=CONTEST, cap=2),
            make("lane", priority=PRACTICE, pools=("finals",)),
            make("lane", priority=JURY, external=True, cap=1, timeout=610),
            make("lane", priority=URGENT, cap=1, timeout=45),
        ]
        everything = ("finals", "default")
        self.runners = [make("runner"), make("runner", tags=everything), make("runner", external=True), make("runner", tags=everything)]
        self.organizations = [None, None, make("unknown")]
        self.authors = [make("unknown"), make("unknown")]
        self.nobody = make("unknown")
        self.receipts: list[Receipt] = []
        self.jobs: list[Id] = []
        self.handouts: list[Handout] = []
        self.outcomes: list[Id] = [self.nobody]
        do("external_judging", on=True)
        for lane, grain in zip(self.lanes, ("a", "b", None, None), strict=True):
            self.opened(do("submit", lane, thread=grain, author=self.authors[0]))

    def teardown(self) -> None:
        try:
            if hasattr(self, "twins"):
                assert_sound()
        finally:
            self.clock.reset()
            TransactionTestCase._fixture_teardown(None)  # type: ignore[attr-defined]

    @invariant()
    def both_stand_the_same(self) -> None:
        if hasattr(self, "twins"):
            self.twins.compare()

    @rule(step=st.sampled_from(STEPS), which=st.integers(0, 999), other=st.integers(0, 999))
    def go_on(self, step: str, which: int, other: int) -> None:
        getattr(self, step.replace(" ", "_"))(which, other)

    def live(self) -> list[Handout]:
        """The hand-outs that are held now."""
        held = {job.lease.token for job in self.twins.model.jobs.values() if job.lease}
        return [handout for handout in self.handouts if handout.token in held]

    def opened(self, answer: Any) -> None:
        """Remember what a submit or a rejudge answered."""
        if isinstance(answer, Receipt) and not answer.existing:
            self.receipts.append(answer)
            self.jobs.append(answer.job)
        elif isinstance(answer, str):
            self.jobs.append(answer)

    def submit(self, which: int, other: int) -> None:
        grain = pick(["a", "b", None, None], which)
        if grain is None and len(self.twins.model.threads) >= MOST_THREADS - 4:
            grain = "a"
        # A coarse thread is one assignment's, so its lane goes by its key (queue.md §1).
        lane = {"a": self.lanes[0], "b": self.lanes[1]}.get(grain or "") or pick(self.lanes, other)
        mode = {"urgent": which % 7 == 1, "only_if_idle": which % 7 == 2}
        said = {"scope": f"p{other % 2}", "content": pick(["", "", "c"], other // 2)}
        whose = {"organization": pick(self.organizations, which // 4), "author": pick(self.authors, other)}
        self.opened(self.twins.do("submit", lane, thread=grain, key=pick(KEYS, other // 4), **said, **whose, **mode))

    def claim(self, which: int, other: int) -> None:
        answer = self.twins.do("claim", pick(self.runners, which), lease_seconds=pick(SECONDS, other))
        if isinstance(answer, Handout):
            self.handouts.append(answer)

    def hold(self, which: int, other: int) -> None:
        """What a holder does, of all that hold something now."""
        if live := self.live():
            handout = pick(live, which)
            self.call(pick(HELD, other), handout.job, handout.token, handout.runner, pick(SECONDS, other // len(HELD)))

    def hold_wrongly(self, which: int, other: int) -> None:
        """The same by those who hold nothing, or not this."""
        if not self.handouts:
            return
        handout = pick(self.handouts, which)
        job, token, runner = handout.job, handout.token, handout.runner
        wrong = pick(WRONG, other)
        if wrong == "job":
            job = pick(self.jobs, other)
        if wrong == "token":
            token = pick(self.handouts, other).token
        if wrong == "runner":
            runner = pick(self.runners, other)
        if wrong == "unknown job":
            job = self.nobody
        tokens: dict[str, Id | None] = {"no token": None, "unknown token": self.nobody}
        self.call(pick(HELD, other // len(WRONG)), job, tokens.get(wrong, token), runner, None)

    def call(self, verb: str, job: Id, token: Id | None, runner: Id, seconds: float | None) -> None:
        """A call of a holder, or of somebody who says so; `seconds` varies what it says."""
        do = self.twins.do
        if verb == "renew":
            do("renew", job, token, runner, lease_seconds=seconds)
        elif verb == "outside":
            do("progress", job, token, runner, outside=f"outside-{seconds}")
        elif verb == "attach":
            do("attach", job, token, runner, name=f"log-{seconds}")
        elif verb == "broken":
            do("report", job, token, runner, infrastructure="no disk")
        elif verb == "report":
            do("report", job, token, runner, verdict="" if seconds == MINUTE else "Accepted")
        elif verb == "undo":
            do("undo_handout", job, token)
        else:
            do(verb, job, token, runner)

    def claim_on_channel(self, which: int, other: int) -> None:
        answer = self.twins.do("claim_on_channel", pick(self.runners, which))
        if isinstance(answer, Handout):
            self.handouts.append(answer)

    def runs(self, *, lost: bool) -> list[Handout]:
        """The hand-outs that are held on the channel now, and those that were lost with their jobs."""
        jobs = self.twins.model.jobs.values()
        tokens = {job.lease.token for job in jobs if job.lease and job.lease.channel} | ({job.lost for job in jobs} if lost else set())
        return [handout for handout in self.handouts if handout.token in tokens]

    def run(self, which: int, other: int) -> None:
        """What a runner on the channel says of a run, over the connection that was given it or over another."""
        if runs := self.runs(lost=True):
            handout = pick(runs, which)
            token = None if other % 3 == 0 else handout.token
            sender = handout.token, token, handout.runner
            self.say(pick(SAID, other // 3), handout.job, sender, pick(VERDICTS, which))

    def run_wrongly(self, which: int, other: int) -> None:
        """The same by whoever holds nothing on the channel, or not this: under every token that was ever issued."""
        if not self.handouts:
            return
        handout = pick(self.handouts, which)
        job, token, runner = handout.job, handout.token, handout.runner
        wrong = pick([*WRONG, "late", "late", "late"], other)
        if wrong == "job":
            job = pick(self.jobs, other)
        if wrong == "unknown job":
            job = self.nobody
        if wrong == "token":
            token = pick(self.handouts, other).token
        if wrong == "unknown token":
            token = self.nobody
        if wrong == "runner":
            runner = pick(self.runners, other)
        sender = token, None if wrong == "no token" else token, runner
        self.say(pick(SAID, other // 9), job, sender, pick(VERDICTS, which))

    def say(self, verb: str, job: Id, sender: tuple[Id, Id | None, Id], verdict: str | None) -> None:
        """A message: a sign of life under a token, or how the run ended, with the token that its connection was given."""
        do, (token, given, runner) = self.twins.do, sender
        if verb in {"finish", "in course"}:
            outcome = do("finish", job, runner, given, verdict=verdict, in_course=verb == "in course")
            if isinstance(outcome, str):
                self.outcomes.append(outcome)
        elif verb == "fail":
            do("fail", job, runner, given, error=f"error {verdict}")
        elif verb == "abandon":
            do("abandon", job, runner, given)
        else:
            do(verb, job, token)

    def beat_on(self, which: int, other: int) -> None:
        """A minute or some in which healthy runners work and are heard; now and then one of them is not."""
        for minute in range(1 + other % 3):
            for place, handout in enumerate(self.runs(lost=False)):
                if (which + place) % 5:
                    self.twins.do("beat" if minute else "start", handout.job, handout.token)
            self.twins.forward(MINUTE)

    def process(self, which: int, other: int) -> None:
        self.twins.do("process", pick(self.outcomes, which))

    def operate(self, which: int, other: int) -> None:
        """An operator, and the author who withdraws."""
        do, verb = self.twins.do, pick(OPERATIONS, which)
        receipt, job = pick(self.receipts, other), pick(self.jobs, other)
        if verb in {"rejudge", "urgent"}:
            self.opened(do("rejudge", receipt.submission, urgent=verb == "urgent"))
        elif verb == "prioritise":
            do("prioritise", job, other % 5)
        elif verb == "give back":
            do("give_back", pick(self.live(), other).job if self.live() else job)
        elif verb in {"cancel", "void"}:
            do(verb, job)
        elif verb == "all of":
            if other % 4 == 0:
                do("delete_work_of", authors=(pick(self.authors, other // 4),), lanes=(pick(self.lanes, other // 8),))
        elif other % 2 == 0:
            do("delete", pick(self.receipts, other // 2).submission, forget_keys=verb == "forget")

    def world(self, which: int, other: int) -> None:
        """Runners, lanes, switches, retention."""
        do, what = self.twins.do, pick(WORLD, which)
        if what == "revoke":
            self.revoke(other)
        elif what == "approve":
            do("approve", pick(self.runners, other))
        elif what == "retag":
            do("retag", pick(self.runners, other), pick(POOLS, other // 8))
        elif what == "reroute":
            do("reroute", pick(self.lanes, other), pick(POOLS, other // 8))
        elif what in {"pause", "resume"}:
            do(what, pick(self.lanes, other))
        elif what in {"on", "off"}:
            do("external_judging", on=what == "on")
        elif what == "draining":
            self.drain(other)
        else:
            # As far as can be beside any moment at which something can have finished.
            do("prune", pick(self.lanes, other), seconds=pick([1, 10, 60], other // 4) * MINUTE + 29)

    def drain(self, other: int) -> None:
        """Nothing is handed out meanwhile; a sweep may close."""
        self.twins.do("maintenance", "draining")
        self.claim(other, 0)
        if other % 2:
            self.sweep(0, 0)
            self.claim(other, 0)
        self.twins.do("maintenance", "open")

    def revoke(self, other: int) -> None:
        """A revoked key is gone for ever; a new one comes instead, perhaps not approved yet."""
        self.twins.do("revoke", pick(self.runners, other))
        if len(self.runners) < MOST_RUNNERS:
            self.runners.append(self.twins.make("runner", tags=("finals", "default"), approved=other % 3 > 0))

    def wait(self, which: int, other: int) -> None:
        self.twins.forward(pick([10, 10, 1, 1, 1.5, 5, 61], which) * MINUTE)

    def sweep(self, which: int, other: int) -> None:
        """Outcomes that nobody processed are left for a minute, whatever a store takes for interrupted."""
        if any(left.waits and left.arrived > self.twins.model.clock - MINUTE for left in self.twins.model.outcomes.values()):
            self.twins.forward(MINUTE)
        self.twins.do("sweep")
