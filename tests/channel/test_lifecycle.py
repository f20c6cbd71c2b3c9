"""What every message does to a job in every stored state (channel-protocol §4 and §7), through a real connection."""

import pytest

from judging import queue
from judging.channel import frames, outputs
from judging.models import Outcome, Problem
from tests import factories
from tests.channel.conftest import ACCEPTED, OPERATOR, outcome_of, stored, until

LAPSED = 101
"""Seconds after which the lease of a job on the channel has run out."""
FAILED = {"results": [{"exit_code": 3}], "error": "out of paper"}


class Case:
    """A job in one stored state, and a connection that executes it."""

    def __init__(self, hall, clock):
        self.hall, self.clock = hall, clock
        self.runner = hall.runner(name="box 1")
        self.other = hall.runner(name="box 2")

    def to(self, state, *, cap=5):
        hall = self.hall
        hall.work = factories.work(cap=1 if state == "lost" else cap)
        self.wire = hall.connect(self.runner)
        self.job = hall.claimed(self.wire) if state == "claimed" else hall.running(self.wire)
        self.token = stored(self.job).token
        getattr(self, f"_{state}", lambda: None)()
        return self

    def _completed(self):
        self._finish()

    def _processed(self):
        queue.process(self._finish())

    def _finish(self):
        output = frames.document([frames.Iteration(0, '{"verdict": "Wrong answer"}')])
        return outcome_of(self.job, self.runner, output)

    def _lost(self):
        self.clock.forward(seconds=LAPSED)
        queue.sweep()
        assert stored(self.job).lost == self.token

    def _requeued(self):
        self.clock.forward(seconds=LAPSED)
        queue.sweep()

    def _handed_on(self):
        self._requeued()
        self.second = self.hall.connect(self.other)
        self.hall.handed(self.second, self.job)

    def _failed(self):
        queue.fail(self.job, runner=self.runner, token=self.token, output=frames.document([]), error="earlier")

    def _canceled(self):
        queue.cancel(self.job, by=OPERATOR, reason="a wrong problem")

    def say(self, message):
        members = {
            "completed": {"job": self.job, "results": ACCEPTED},
            "failed": {"job": self.job, **FAILED},
            "canceled": {"job": self.job},
        }
        self.wire.say(message, **members.get(message, {}))

    def ask(self, message):
        self.say(message)
        return self.wire.hear()

    @property
    def state(self):
        row = stored(self.job)
        if row.outcome:
            return "completed"
        if row.state == "running":
            return "running" if row.started_at else "claimed"
        return {"completed": "processed", "queued": "queued", "cancelled": "canceled"}.get(row.state, row.state)


@pytest.fixture
def case(hall, clock):
    return Case(hall, clock)


ACK = "ack"
CANCEL = "cancel"
CELLS = [
    ("claimed", "running", ACK, "running"),
    ("claimed", "heartbeat", ACK, "claimed"),
    ("claimed", "failed", ACK, "failed"),
    ("claimed", "canceled", ACK, "canceled"),
    ("running", "running", ACK, "running"),
    ("running", "heartbeat", ACK, "running"),
    ("running", "completed", ACK, "processed"),
    ("running", "failed", ACK, "failed"),
    ("running", "canceled", ACK, "canceled"),
    *[("completed", message, ACK, "completed") for message in ("running", "heartbeat", "completed", "failed", "canceled")],
    *[("processed", message, ACK, "processed") for message in ("running", "heartbeat", "completed", "failed", "canceled")],
    ("lost", "running", ACK, "failed"),
    ("lost", "heartbeat", ACK, "failed"),
    ("lost", "completed", ACK, "processed"),
    ("lost", "failed", ACK, "failed"),
    ("lost", "canceled", ACK, "failed"),
    *[("failed", message, ACK, "failed") for message in ("running", "heartbeat", "completed", "failed", "canceled")],
    ("requeued", "running", CANCEL, "queued"),
    ("requeued", "heartbeat", CANCEL, "queued"),
    *[("requeued", message, ACK, "queued") for message in ("completed", "failed", "canceled")],
    ("handed_on", "running", CANCEL, "claimed"),
    ("handed_on", "heartbeat", CANCEL, "claimed"),
    *[("handed_on", message, ACK, "claimed") for message in ("completed", "failed", "canceled")],
    ("canceled", "running", CANCEL, "canceled"),
    ("canceled", "heartbeat", CANCEL, "canceled"),
    *[("canceled", message, ACK, "canceled") for message in ("completed", "failed", "canceled")],
]


@pytest.mark.parametrize(("state", "message", "answer", "left"), CELLS, ids=str)
def test_every_message_in_every_state_on_the_connection_that_executes(case, state, message, answer, left):
    case.to(state)

    told = case.ask(message)

    assert told == ({"event": "ack", "job": str(case.job)} if answer == ACK else {"event": "cancel"})
    if left == "processed":
        until(lambda: case.state == "processed")
    assert case.state == left


TERMINAL = [cell for cell in CELLS if cell[1] in {"completed", "failed", "canceled"}]


@pytest.mark.parametrize(("state", "message", "answer", "left"), [*TERMINAL, ("claimed", "completed", ACK, "processed")])
def test_every_terminal_message_in_every_state_on_another_connection(case, state, message, answer, left):
    case.to(state)
    case.wire = case.hall.connect(case.runner)

    assert case.ask(message) == {"event": "ack", "job": str(case.job)}

    if left == "processed":
        until(lambda: case.state == "processed")
    assert case.state == left


def test_completing_what_was_never_said_to_run_closes_without_an_ack(case):
    case.to("claimed")

    case.say("completed")

    assert case.wire.closed() == (1002, '"not_running"')
    assert case.wire.seen[-1]["event"] != "ack"
    assert case.state == "claimed"


def test_what_comes_after_a_result_changes_nothing_of_it(case):
    case.to("processed")

    case.ask("completed")
    case.ask("failed")

    assert stored(case.job).result.verdict == "Wrong answer"
    assert b"Wrong answer" in (outputs.read(case.hall.work.problem.id, case.job) or b"")


def test_a_second_outcome_does_not_replace_one_that_waits(case, clock):
    case.to("completed")

    case.ask("completed")

    clock.forward(seconds=10)
    queue.sweep()
    assert stored(case.job).result.verdict == "Wrong answer"


def test_a_lost_runners_words_are_kept_and_its_outcome_counts_all_the_same(case):
    case.to("lost")

    case.ask("failed")
    assert Outcome.objects.get(job=case.job).error == "out of paper"
    assert stored(case.job).reason == "Given up after 1 deliveries: contact with the runner was lost"
    case.ask("completed")

    until(lambda: case.state == "processed")
    assert stored(case.job).result.verdict == "Accepted"


def test_a_failure_is_told_in_the_runners_words(case):
    case.to("running")

    case.ask("failed")

    assert stored(case.job).reason == "out of paper"
    assert outputs.read(case.hall.work.problem.id, case.job) == b'{"results":[{"exit_code":3}],"error":"out of paper"}'


def test_what_was_deleted_stays_deleted_whatever_a_lost_runner_sends(case):
    case.to("lost")
    queue.delete_submission(stored(case.job).submission_id, by=OPERATOR, reason="withdrawn")

    case.ask("completed")

    assert case.state == "failed"


def test_somebody_elses_job_is_acknowledged_and_left_alone(case):
    case.to("running")
    stranger = case.hall.connect(case.other)

    assert stranger.ask("completed", job=case.job, results=ACCEPTED) == {"event": "ack", "job": str(case.job)}
    assert stranger.ask("failed", job=case.job, **FAILED)["event"] == "ack"
    assert stranger.ask("canceled", job=case.job)["event"] == "ack"

    assert case.state == "running"


def test_a_job_nobody_knows_is_acknowledged(case):
    wire = case.hall.connect(case.runner)
    job = "00000000-0000-7000-8000-000000000000"

    assert wire.ask("canceled", job=job) == {"event": "ack", "job": job}


def test_a_second_hand_out_to_the_same_runner_is_not_ended_by_the_first(case):
    case.to("requeued")
    again = case.hall.connect(case.runner)
    case.hall.handed(again, case.job)

    case.ask("failed")

    assert case.state == "claimed"
    assert stored(case.job).token != case.token


def limited(case, *, cap=5, seconds=10):
    """A running job whose hard limit (its time and a minute's grace) comes before its lease runs out."""
    case.hall.work = factories.work(cap=cap)
    Problem.objects.filter(id=case.hall.work.problem.id).update(timeout_seconds=seconds)
    case.wire = case.hall.connect(case.runner)
    case.job = case.hall.running(case.wire)
    case.token = stored(case.job).token
    return case


@pytest.mark.parametrize(
    ("message", "told"), [("running", "cancel"), ("heartbeat", "cancel"), ("completed", "ack"), ("failed", "ack"), ("canceled", "ack")]
)
def test_over_the_hard_limit_every_message_finds_the_job_cancelled(case, clock, message, told):
    limited(case)
    clock.forward(seconds=71.5)

    assert case.ask(message)["event"] == told

    assert case.state == "canceled"
    assert stored(case.job).reason == "the run exceeded its limit of 70 seconds"


def test_at_the_hard_limit_itself_the_run_goes_on(case, clock):
    limited(case)
    clock.forward(seconds=70 - 0.5)

    assert case.ask("heartbeat")["event"] == "ack"
    queue.sweep()

    assert case.state == "running"


def test_the_sweep_cancels_what_is_over_its_hard_limit_though_its_lease_lives(case, clock):
    limited(case)
    clock.forward(seconds=71.5)

    queue.sweep()

    assert case.state == "canceled"
    assert case.ask("heartbeat") == {"event": "cancel"}


def test_who_was_lost_before_the_limit_is_lost_however_late_anybody_looks(case, clock):
    limited(case, cap=1, seconds=60)
    clock.forward(seconds=LAPSED + 60)

    queue.sweep()

    assert stored(case.job).lost == case.token
    case.ask("completed")
    until(lambda: case.state == "processed")


def test_an_outcome_that_is_the_first_to_find_its_run_lost_before_the_limit_still_counts(case, clock):
    limited(case, cap=1, seconds=60)
    clock.forward(seconds=LAPSED + 60)

    case.ask("completed")

    until(lambda: case.state == "processed")


def test_a_lapsed_lease_that_nobody_ended_is_saved_by_a_heartbeat(case, clock):
    case.to("running")
    clock.forward(seconds=LAPSED)

    assert case.ask("heartbeat")["event"] == "ack"
    queue.sweep()

    assert case.state == "running"


def test_heartbeats_write_only_when_the_deadline_comes_near(case, clock):
    case.to("running")
    before = stored(case.job).n
    case.ask("heartbeat")
    clock.forward(seconds=9)
    case.ask("heartbeat")
    assert stored(case.job).n == before

    clock.forward(seconds=2)
    case.ask("heartbeat")

    assert stored(case.job).n == before + 1
    assert (stored(case.job).lease_until - clock.now()).total_seconds() > 98


def test_who_never_says_that_the_run_began_is_not_waited_for_longer_than_for_a_run(case, clock):
    case.hall.work = factories.work()
    Problem.objects.filter(id=case.hall.work.problem.id).update(timeout_seconds=60)
    case.wire = case.hall.connect(case.runner)
    case.job = case.hall.claimed(case.wire)
    for _ in range(3):
        clock.forward(seconds=60)
        case.ask("heartbeat")

    queue.sweep()

    assert case.state == "queued"


def test_a_lost_job_is_handed_out_again_until_its_problems_cap(case, clock):
    case.to("running", cap=2)
    clock.forward(seconds=LAPSED)
    queue.sweep()
    second = case.hall.connect(case.other)
    case.hall.handed(second, case.job)
    clock.forward(seconds=LAPSED)
    queue.sweep()

    assert (case.state, stored(case.job).reason) == ("failed", "Given up after 2 deliveries: contact with the runner was lost")
    second.ask("completed", job=case.job, results=ACCEPTED)


def test_a_job_frame_that_arrived_counts_as_heard(case, clock):
    case.to("claimed")
    clock.forward(seconds=LAPSED)

    queue.sweep()

    assert stored(case.job).deliveries == 1
