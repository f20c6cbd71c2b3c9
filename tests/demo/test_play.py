"""What happens in the demo, and how it is told: contests/demo/play.py and board.py."""

import io

import pytest
from rich.console import Console

from contests.demo import play
from contests.demo.board import Board
from contests.demo.caller import Unexpected
from contests.demo.play import Entry, Recovery, watch
from contests.demo.solutions import PATIENT, Solution

SUM = Solution("A", "sum.py", "python3", "Accepted")
AT = "2026-11-30T08:00:00.000000Z"


def document(state="queued", verdict="", *, deliveries=0, history=(), attempts=1, **more):
    attempt = {"attempt": attempts, "state": state, "deliveries": deliveries, "history": list(history)}
    if state == "completed":
        attempt["finishedAt"] = "2026-11-30T08:00:02.500000Z"
    found = {"id": "1", "createdAt": AT, "state": state, "attempts": [attempt] * attempts, **more}
    return found | ({"verdict": verdict} if verdict else {})


HELD = {"runner": "demo-1"}
LOST = {"runner": "demo-1", "ending": "expired"}
DONE = {"runner": "demo-2", "ending": "reported"}


class Plug:
    """Counts who was killed."""

    def __init__(self):
        self.pulled = []

    def pull_the_plug(self, name):
        self.pulled.append(name)

    def must_live(self):
        pass


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test moves on, in a list of one."""
    now = [1.0]
    monkeypatch.setattr("contests.demo.play.time.monotonic", lambda: now[0])
    return now


def killing(states, clock):
    found = Recovery(Entry(PATIENT, document()), Plug(), say=lambda text: None)
    for state in states:
        found.entry.document = state
        found.look()
        clock[0] += 1.0
    return found


def test_the_runner_is_killed_in_the_middle_of_judging_and_once(clock):
    held = document("running", deliveries=1, history=[HELD])

    assert killing([document(), held], clock).killer.pulled == []
    assert killing([document(), held, held, held, held], clock).killer.pulled == ["demo-1"]


def test_a_recovery_is_the_same_job_handed_out_again(clock):
    held = document("running", deliveries=1, history=[HELD])
    done = document("completed", "Accepted", deliveries=2, history=[LOST, DONE])

    seen = killing([held, held, held, done], clock)

    assert seen.happened
    assert "went to demo-2 as delivery 2" in seen.told


@pytest.mark.parametrize(
    "ended",
    [
        document("completed", "Accepted", deliveries=1, history=[DONE]),
        document("completed", "Wrong answer", deliveries=2, history=[LOST, DONE]),
        document("completed", "Accepted", deliveries=2, history=[LOST | {"ending": "released"}, DONE]),
        document("completed", "Accepted", deliveries=2, history=[LOST | {"runner": "demo-2"}, DONE]),
        document("completed", "Accepted", deliveries=2, history=[LOST, DONE], attempts=2),
        document("failed", deliveries=5, history=[LOST, DONE]),
    ],
)
def test_anything_less_is_no_recovery(clock, ended):
    held = document("running", deliveries=1, history=[HELD])

    seen = killing([held, held, held, ended], clock)

    assert not seen.happened
    assert "FAILED" in seen.told


def test_a_runner_that_was_too_quick_is_said(clock):
    seen = killing([document("completed", "Accepted", deliveries=1, history=[DONE])], clock)

    assert not seen.happened
    assert "NOT SEEN" in seen.told


def test_watching_ends_when_all_are_settled(monkeypatch):
    monkeypatch.setattr(play, "POLL_SECONDS", 0)
    entries, looks = [Entry(SUM, document())], iter([document("running", history=[HELD]), document("completed", "Accepted")])
    calls = []

    watch(entries, look=lambda: {"1": next(looks)}, each=lambda: calls.append(entries[0].state))

    assert calls == ["running", "completed"]
    assert (entries[0].right, entries[0].seconds) == (True, 2.5)


def test_watching_gives_up_when_nothing_happens(monkeypatch):
    monkeypatch.setattr(play, "POLL_SECONDS", 0)
    monkeypatch.setattr(play, "SILENCE_SECONDS", 0.01)

    with pytest.raises(Unexpected, match=r"A/sum\.py"):
        watch([Entry(SUM, document())], look=dict, each=lambda: None)


# How it looks.


def told(*documents, terminal=False):
    out = io.StringIO()
    board = Board(Console(file=out, force_terminal=terminal, width=120))
    entry = Entry(SUM, document())
    with board.watching():
        for each in documents:
            entry.document = each
            board.show([entry])
    board.verdicts([entry])
    return out.getvalue()


def test_a_pipe_gets_a_plain_line_for_each_change():
    running = document("running", deliveries=1, history=[HELD])
    back = document("queued", deliveries=1, history=[LOST])
    done = document("completed", "Accepted", deliveries=2, history=[LOST, DONE])

    lines = told(document(), document(), running, running, back, done).splitlines()

    assert [line.strip() for line in lines[:4]] == [
        "A/sum.py: queued",
        "A/sum.py: judged by demo-1",
        "A/sum.py: back in the queue",
        "A/sum.py: Accepted",
    ]
    assert lines[4].split() == ["Submission", "Language", "Expected", "Got", "Attempt", "Deliveries", "Time"]
    assert lines[5].split() == ["A/sum.py", "Python", "Accepted", "Accepted", "1", "2", "2.5", "s"]


def test_what_was_not_expected_stands_out_without_colours():
    assert "Wrong answer (!)" in told(document("completed", "Wrong answer", deliveries=1, history=[DONE]))


def test_a_terminal_gets_a_table_that_lives():
    shown = told(document(), document("completed", "Accepted"), terminal=True)

    assert "\x1b[" in shown
    assert "Submission" in shown
