"""Eight clients at once, at random and then all at the same moment: what they leave must be sound, and explained."""

from __future__ import annotations

import os
import random
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.contract.interface import Client, Handout, Id, Receipt, Refused
from tests.contract.postgres import PostgresStore
from tests.machine.soundness import assert_sound

CLIENTS = 8
ORDINARY = {
    "not_found", "job.state", "job.admitted", "submission.busy", "submission.key.reused", "attempt.file.duplicate",
    "runner.lease.stale", "runner.lease.foreign", "runner.notApproved",
}  # fmt: skip
"""What a crowd may hear. Neither a busy store nor one that does not answer is among it: nobody holds a lock for long."""
STEPS = 6 * ["claim"] + 6 * ["hold"] + 3 * ["submit"] + 3 * ["operate"] + ["sweep", "sweep", "wait", "steal", "revoke"]


class Crowd:
    """What the clients know of together; lists only grow, so that threads may share them."""

    def __init__(self, store: PostgresStore) -> None:
        self.store = store
        self.lanes: list[Id] = [store.lane(cap=2), store.lane(cap=3)]
        self.runners: list[Id] = [store.runner() for _ in range(CLIENTS)]
        self.receipts: list[Receipt] = []
        self.jobs: list[Id] = []
        self.handouts: list[Handout] = []
        self.heard: Counter[str] = Counter()
        with store.client() as client:
            for n in range(3):
                self.opened(client.submit(self.lanes[n % 2], thread=f"t{n}"))

    def opened(self, receipt: Receipt) -> None:
        self.receipts.append(receipt)
        self.jobs.append(receipt.job)

    def act(self, client: Client, dice: random.Random) -> None:
        """One thing that somebody does now; the code of a refusal is counted."""
        step = dice.choice(STEPS)
        try:
            getattr(self, step)(client, dice)
            self.heard["done"] += 1
        except Refused as refusal:
            self.heard[refusal.code] += 1

    def submit(self, client: Client, dice: random.Random) -> None:
        """Coarse threads, few keys: everybody meets everybody."""
        n = dice.randrange(4)
        mode: dict[str, Any] = {"urgent": dice.random() < 0.2, "only_if_idle": dice.random() < 0.1}
        key = dice.choice([None, f"k{dice.randrange(3)}"])
        self.opened(client.submit(self.lanes[n % 2], thread=f"t{n}", key=key, scope=f"{n % 2}", **mode))

    def claim(self, client: Client, dice: random.Random) -> None:
        if handout := client.claim(dice.choice(self.runners), lease_seconds=60):
            self.handouts.append(handout)

    def hold(self, client: Client, dice: random.Random) -> None:
        if not self.handouts:
            return
        held = dice.choice(self.handouts[-CLIENTS:])
        ids = held.job, held.token, held.runner
        verb = dice.choice(["report", "report", "broken", "renew", "progress", "outside", "release", "attach", "undo"])
        if verb == "broken":
            client.report(*ids, infrastructure="no disk")
        elif verb == "outside":
            client.progress(*ids, outside=f"outside-{held.job}")
        elif verb == "attach":
            client.attach(*ids, name="log")
        elif verb == "undo":
            client.undo_handout(held.job, held.token)
        else:
            getattr(client, verb)(*ids)

    def steal(self, client: Client, dice: random.Random) -> None:
        if self.handouts:
            held = dice.choice(self.handouts)
            client.report(held.job, held.token, dice.choice(self.runners))

    def operate(self, client: Client, dice: random.Random) -> None:
        verb, receipt, job = dice.randrange(10), dice.choice(self.receipts), dice.choice(self.jobs)
        if verb < 5:
            self.jobs.append(client.rejudge(receipt.submission, urgent=verb < 2))
        elif verb == 5:
            client.delete(receipt.submission, forget_keys=dice.random() < 0.5)
        else:
            [client.cancel, client.give_back, client.void, lambda job: client.prioritise(job, dice.randrange(5))][verb - 6](job)

    def sweep(self, client: Client, dice: random.Random) -> None:
        client.sweep()

    def wait(self, client: Client, dice: random.Random) -> None:
        self.store.forward(dice.choice([30, 61]))

    def revoke(self, client: Client, dice: random.Random) -> None:
        """One key in eight, now and then; another takes its place."""
        if dice.random() < 0.3:
            client.revoke(dice.choice(self.runners))
            self.runners.append(self.store.runner())


def rush(crowd: Crowd, seed: str, *, rounds: int, acts: int) -> None:
    """Let the clients act, each by its own dice, all beginning each round at the same moment."""
    barrier = threading.Barrier(CLIENTS)

    def run(n: int) -> None:
        dice = random.Random(f"{seed}-{n}")
        with crowd.store.client() as client:
            for _ in range(rounds):
                barrier.wait(300)
                for _ in range(acts):
                    crowd.act(client, dice)

    def run_or_free_the_others(n: int) -> None:
        try:
            run(n)
        except BaseException:
            barrier.abort()
            raise

    with ThreadPoolExecutor(CLIENTS) as pool:
        futures = [pool.submit(run_or_free_the_others, n) for n in range(CLIENTS)]
    errors = [error for future in futures if (error := future.exception()) and not isinstance(error, threading.BrokenBarrierError)]
    assert errors == [], f"seed {seed}"


def crowd_leaves_it_sound(clock, seed: str, *, rounds: int, acts: int) -> Crowd:
    print(f"ASSIZE_CROWD_SEED={seed}")  # noqa: T201 - pytest shows it with a failure
    crowd = Crowd(PostgresStore(clock))
    rush(crowd, seed, rounds=rounds, acts=acts)
    assert set(crowd.heard) - ORDINARY - {"done"} == set(), crowd.heard
    assert_sound()
    return crowd


@pytest.mark.timeout(600)
def test_what_eight_clients_leave_behind_is_sound_and_explained(clock):
    crowd = crowd_leaves_it_sound(clock, os.environ.get("ASSIZE_CROWD_SEED", "assize"), rounds=4, acts=10)

    assert {"done", "runner.lease.stale", "job.state"} <= set(crowd.heard)
    assert len(crowd.handouts) > CLIENTS


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_what_eight_clients_leave_behind_after_much_longer(clock):
    """Another seed each time, unless ASSIZE_CROWD_SEED gives one."""
    seed = os.environ.get("ASSIZE_CROWD_SEED") or str(random.SystemRandom().randrange(2**32))
    crowd_leaves_it_sound(clock, seed, rounds=40, acts=20)
