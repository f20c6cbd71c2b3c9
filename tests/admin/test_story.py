"""PURE: a job's records in words, and what the dashboard's facts mean."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from judging.alarms import AuditFacts, Facts, alarms
from judging.states import RecordType
from judging.story import Told, tell
from judging.trouble import Trouble, suspects

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
JOB, RUNNER, TOKEN = uuid4(), uuid4(), uuid4()
OPENED: dict[str, Any] = {
    "thread": str(uuid4()),
    "submission": str(uuid4()),
    "lane": str(uuid4()),
    "version": str(uuid4()),
    "attempt": 1,
    "priority": 1,
    "urgent": False,
    "cap": 2,
}
LEASED: dict[str, Any] = {"token": str(TOKEN), "runner": str(RUNNER), "granted": 600}


def records(*moves: tuple[str, dict[str, Any]]) -> list[Told]:
    """Records a minute apart."""
    return [Told(n, NOON + timedelta(minutes=n), kind, JOB, f"runner:{RUNNER}", data) for n, (kind, data) in enumerate(moves, start=1)]


def story(*moves):
    return [line.words for line in tell(records(("submitted", OPENED), ("leased", LEASED), *moves))]


def test_a_hand_out_says_for_how_long_and_until_when():
    line = tell(records(("submitted", OPENED), ("leased", LEASED)))[1]

    assert line.words == "Handed out for 600 s (hand-out 1 of 2)."
    assert line.until == NOON + timedelta(minutes=12)


def test_a_lease_nobody_was_heard_of_is_given_back():
    kind = "expired"
    data: dict[str, Any] = {"token": str(TOKEN), "free": 3}
    lines = tell([*records(("submitted", OPENED), ("leased", LEASED)), Told(3, NOON + timedelta(minutes=13), kind, JOB, "reaper", data)])

    assert lines[-1].words == "The lease ran out. The runner was never heard of. Back in the queue; the delivery was given back."


def test_an_infrastructure_failure_counts_and_keeps_the_runner_s_words_apart():
    line = tell(
        records(
            ("submitted", OPENED),
            ("leased", LEASED),
            ("requeued", {"cause": "infrastructure failure", "token": str(TOKEN), "reason": "<b>disk</b>"}),
        )
    )[-1]

    assert line.words == "The runner could not judge it (infrastructure failure). Back in the queue; delivery 1 of 2 counted."
    assert line.reason == "<b>disk</b>"


def test_a_job_that_is_given_up_says_after_how_many():
    again = LEASED | {"token": str(uuid4())}
    failed = {"token": again["token"], "judged": False, "reason": "disk"}

    words = story(
        ("requeued", {"cause": "infrastructure failure", "token": str(TOKEN), "reason": "disk"}), ("leased", again), ("reported", failed)
    )

    assert words[-1] == "Reported an infrastructure failure. Given up after 2 deliveries: infrastructure failure: disk"


def test_a_record_of_a_later_version_is_told_and_loses_nothing():
    words = story(("teleported", {"to": "mars"}), ("heard", {"token": str(TOKEN)}))

    assert words[-2:] == ["teleported: a record this version does not know.", "Heard from the runner; the deadline did not move."]


def test_records_that_do_not_fit_each_other_are_still_told():
    lines = tell(records(("leased", LEASED), ("reported", {"judged": True, "verdict": "Accepted", "token": "x"})))

    assert [line.words for line in lines] == ["Handed out for 600 s.", "Reported: Accepted."]


@pytest.mark.parametrize("kind", list(RecordType))
def test_every_kind_of_record_has_words(kind):
    words = tell(records((kind.value, {})))[0].words

    assert words
    assert "does not know" not in words


def facts(**other):
    quiet: dict[str, Any] = {
        "now": NOON,
        "level": "open",
        "last_sweep_at": NOON,
        "pending": 0,
        "paused_lanes": 0,
        "stuck": (),
        "oldest": None,
        "overdue": 0,
        "failed": 0,
        "audit": AuditFacts(NOON, behind=False),
    }
    return Facts(**(quiet | other))


def test_a_quiet_installation_raises_nothing():
    assert alarms(facts()) == []


@pytest.mark.parametrize(
    ("other", "red"),
    [
        ({"level": "closed"}, True),
        ({"level": "draining"}, False),
        ({"last_sweep_at": None}, True),
        ({"last_sweep_at": NOON - timedelta(minutes=2, seconds=1)}, True),
        ({"audit": AuditFacts(NOON, behind=False, diverged="thread 1, record 2: table")}, True),
        ({"audit": AuditFacts(NOON - timedelta(hours=2, seconds=1), behind=True)}, False),
        ({"audit": AuditFacts(None, behind=True)}, False),
        ({"pending": 1}, False),
        ({"paused_lanes": 2}, False),
        ({"stuck": ("No approved runner declares x.",)}, True),
        ({"oldest": NOON - timedelta(minutes=11)}, True),
        ({"overdue": 1}, True),
        ({"external_waits": True}, True),
        ({"suspects": (Trouble("dusty", "ab" * 32, jobs=10, failed=5, came_back=5),)}, False),
        ({"failed": 1}, True),
    ],
)
def test_each_fact_raises_its_alarm(other, red):
    assert [alarm.red for alarm in alarms(facts(**other))] == [red]


@pytest.mark.parametrize("other", [{"last_sweep_at": NOON - timedelta(minutes=2)}, {"oldest": NOON - timedelta(minutes=10)}])
def test_at_the_limit_all_is_well(other):
    assert alarms(facts(**other)) == []


def test_what_needs_a_person_comes_first():
    assert [alarm.red for alarm in alarms(facts(pending=1, failed=1, paused_lanes=1))] == [True, False, False]


@pytest.mark.parametrize(
    ("counted", "named"),
    [
        ({"a": (10, 2), "b": (100, 1)}, ["a"]),
        ({"a": (9, 9), "b": (100, 1)}, []),
        ({"a": (100, 19), "b": (100, 0)}, []),
        ({"a": (10, 5), "b": (10, 5)}, []),
        ({"a": (10, 2)}, ["a"]),
        ({}, []),
    ],
)
def test_a_machine_stands_out_when_others_do_better(counted, named):
    machines = [Trouble(name, name, jobs, failed, came_back=failed) for name, (jobs, failed) in counted.items()]

    assert [each.name for each in suspects(machines)] == named
