"""Any sequence of verbs: the database and the model answer the same and stand the same after every step."""

import os
import random

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.machine.rules import QueueMachine

QUICK = settings(
    max_examples=20,
    stateful_step_count=50,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
LONG = settings(QUICK, max_examples=400, stateful_step_count=80, derandomize=False, print_blob=True)


def machine(clock):
    return type("QueueMachine", (QueueMachine,), {"clock": clock})


@pytest.mark.timeout(900)
def test_database_and_model_agree_whatever_comes(clock):
    run_state_machine_as_test(machine(clock), settings=QUICK)


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_database_and_model_agree_for_much_longer(clock):
    """Another seed each time; ASSIZE_MACHINE_SEED repeats one, ASSIZE_MACHINE_EXAMPLES says how many."""
    number = int(os.environ.get("ASSIZE_MACHINE_SEED") or random.SystemRandom().randrange(2**32))
    print(f"ASSIZE_MACHINE_SEED={number}")  # noqa: T201 - pytest shows it with the failure
    examples = int(os.environ.get("ASSIZE_MACHINE_EXAMPLES") or LONG.max_examples)
    run_state_machine_as_test(seed(number)(machine(clock)), settings=settings(LONG, max_examples=examples))
