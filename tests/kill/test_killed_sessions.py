"""The database ends a verb's session at every moment there is: nothing of a step is left, or all of it (queue.md §5).

The caller hears a refusal that says "later" (503) and never a raw error, and the same process goes on working.
"""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import TransactionTestCase

from judging import queue
from judging.errors import Refusal
from runners.keys import new_id
from tests.kill.killing import Session, watched
from tests.kill.scenes import SCENES, Scene, idle, stands
from tests.machine.soundness import assert_sound

LATER = {"storage.unavailable", "storage.busy"}
GOES_ON = {"sweep", "sweep_if_due"}
"""These do many things that are each nothing or all; one that was killed does not stop the rest."""
ONCE = {
    "submit", "submit_again", "submit_urgent", "report", "report_last", "report_again", "undo", "cancel", "void", "prioritise",
    "delete", "delete_widely", "approve", "revoke", "retag", "reroute", "pause", "resume", "switch_maintenance",
    "switch_external", "sweep", "prune", "claim", "claim_lapsed",
}  # fmt: skip
"""Said again by somebody who does not know whether it was done, these have been done once."""


@pytest.fixture
def other(transactional_db):
    """A second connection, which kills and looks."""
    second = connection.copy()
    second.ensure_connection()
    yield second
    second.close()
    connection.close()  # which may be dead after a failure here, and the next test would suffer for it


def outcome(call) -> Any:
    """What a call came to: "done", or the refusal's code. Any other error is a fault of the verb."""
    try:
        call()
    except Refusal as refusal:
        return refusal.code
    return "done"


def fresh(clock, scene: str) -> Any:
    """An empty database with this scene's world in it; the call to be killed."""
    TransactionTestCase._fixture_teardown(None)  # type: ignore[attr-defined]
    clock.reset()
    return getattr(Scene(clock), f"{scene}_call")()


def rehearse(clock, scene: str, other) -> tuple[list[str], list[Any], str]:
    """Run a scene undisturbed: its moments, how everything stood before and after each COMMIT, and what it came to."""
    call = fresh(clock, scene)
    seen = [stands(other)]
    session = Session(other, committed=lambda: seen.append(stands(other)))
    with watched(session):
        came_to = outcome(call)
    seen.append(stands(other))
    return session.moments, seen, came_to


def ask_for_nothing() -> None:
    """A whole transaction of a verb that finds nothing to do."""
    queue.undo_handout(new_id(), token=new_id())


@pytest.mark.parametrize("scene", SCENES)
def test_a_killed_session_leaves_nothing_or_all_and_the_next_call_works(clock, other, scene):
    moments, seen, came_to = rehearse(clock, scene, other)
    assert len(moments) > 1
    examined = [seen[0]]

    for fatal, moment in enumerate(moments):
        place = f"{scene}, killed at {fatal}: {moment}"
        call = fresh(clock, scene)
        with watched(Session(other, fatal)):
            met = outcome(call)
        assert met in LATER | {came_to}, f"{place}: {met}"
        assert outcome(ask_for_nothing) == "done", f"{place}: the next call failed"
        assert idle(), f"{place}: a transaction is left open"
        stood = stands(other)
        assert scene in GOES_ON or stood in seen, f"{place}: {stood}"
        if stood not in examined:
            assert_sound()
            examined.append(stood)
        assert outcome(call) not in LATER, f"{place}: it does not work a second time"
        assert scene not in ONCE or stands(other) == seen[-1], f"{place}: said again it does not come to the same"
