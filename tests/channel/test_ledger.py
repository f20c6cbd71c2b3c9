"""The ledger explains the tables after everything that can happen on the channel (I7, ledger.md §3-4)."""

from datetime import timedelta

import pytest
from django.core.management import call_command

from judging import queue
from judging.channel import frames, outputs
from judging.errors import JobStateWrong
from judging.models import Job, LedgerRecord, Outcome, Problem, Result
from judging.rows import Illegal, JobRow, Move, Scalar, apply
from judging.states import MOVES, JobState, RecordType
from runners import keys
from tests import factories
from tests.channel.conftest import claimed_by, outcome_of

ACCEPTED = frames.document([frames.Iteration(0, '{"verdict": "Accepted", "score": 3, "maxScore": 4}')])
NOTHING = frames.document([])


@pytest.fixture
def box(clock):
    return factories.box().id


def claimed(box, *, cap=5, seconds=3600):
    work = factories.work(cap=cap)
    Problem.objects.filter(id=work.problem.id).update(timeout_seconds=seconds)
    factories.submission(work)
    return claimed_by(box)


def lost(box, clock):
    row = claimed(box, cap=1)
    queue.start(row.id, token=row.token)
    clock.forward(seconds=101)
    queue.sweep()
    assert Job.objects.get(id=row.id).state == "failed"
    return row


def finished(box, row, output=ACCEPTED):
    outcome = queue.finish(row.id, runner=box, token=row.token, output=output)
    assert outcome is not None
    queue.process(outcome)


def test_the_audit_follows_every_way_a_run_can_go(box, clock, capsys):
    finished(box, claimed(box))
    finished(box, claimed(box), NOTHING)
    finished(box, lost(box, clock))
    finished(box, lost(box, clock), NOTHING)
    late = lost(box, clock)
    queue.fail(late.id, runner=box, token=late.token, output=NOTHING, error="too late")
    queue.fail(claimed(box).id, runner=box, token=None, output=NOTHING, error="out of paper")
    queue.abandon(claimed(box).id, runner=box, token=None)
    over = claimed(box, seconds=10)
    queue.start(over.id, token=over.token)
    clock.forward(seconds=75)
    queue.beat(over.id, token=over.token)
    quiet = claimed(box)
    clock.forward(seconds=95)
    queue.lose(quiet.id, token=quiet.token)
    open_one = claimed(box)
    queue.replace_channel_key(box, by="user:1")
    queue.replace_channel_key(box, by="user:1")
    waiting = queue.finish(open_one.id, runner=box, token=None, output=ACCEPTED)

    assert waiting is None
    kinds = set(LedgerRecord.objects.values_list("type", flat=True))
    assert kinds >= {"started", "arrived", "failed", "reported", "cancelled", "expired", "requeued"}
    assert Result.objects.count() == 2
    call_command("audit")
    assert "explain the tables" in capsys.readouterr().out


def row_of(job) -> JobRow:
    """The stored row as the rules see it."""
    stored = Job.objects.get(id=job)
    foreign = {"thread", "submission", "lane", "version", "runner"}
    values = {name: getattr(stored, f"{name}_id" if name in foreign else name) for name in JobRow._fields}
    return JobRow(**values | {"state": JobState(stored.state)})


def test_failed_becomes_completed_in_one_case_alone(box, clock):
    row = row_of(lost(box, clock).id)
    reported = {"token": str(row.lost), "judged": True}
    assert MOVES[JobState.FAILED] == {JobState.FAILED, JobState.COMPLETED}

    def move(kind, before, **data):
        assert before.finished_at is not None
        return apply(before, Move(kind, before.id, before.finished_at, data, 99))

    arrived = move(RecordType.ARRIVED, row, token=str(row.lost), outcome=str(keys.new_id()))
    assert move(RecordType.REPORTED, arrived, **reported).state is JobState.COMPLETED
    assert move(RecordType.REPORTED, arrived, **reported).closed_at_seq == 99
    with pytest.raises(Illegal):
        move(RecordType.REPORTED, row, **reported)
    with pytest.raises(Illegal):
        move(RecordType.ARRIVED, row, token=str(keys.new_id()), outcome=str(keys.new_id()))
    with pytest.raises(Illegal):
        move(RecordType.ARRIVED, row._replace(lost=None), token=str(row.lost), outcome=str(keys.new_id()))
    with pytest.raises(Illegal):
        move(RecordType.ARRIVED, arrived, token=str(row.lost), outcome=str(keys.new_id()))


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (RecordType.RENEWED, {"seconds": 100}),
        (RecordType.STARTED, {"seconds": 100}),
        (RecordType.HEARD, {}),
        (RecordType.RELEASED, {"free": 3}),
        (RecordType.EXPIRED, {"free": 3}),
        (RecordType.CANCELLED, {"reason": "no"}),
        (RecordType.REQUEUED, {"cause": "runner revoked"}),
        (RecordType.REQUEUED, {"cause": "contact with the runner was lost", "free": 3}),
        (RecordType.ARRIVED, {"outcome": "00000000-0000-7000-8000-000000000000"}),
        (RecordType.REPORTED, {"judged": False, "reason": "no"}),
    ],
)
def test_nothing_takes_away_a_job_whose_outcome_has_arrived(box, kind, data):
    leased = claimed(box)
    queue.finish(leased.id, runner=box, token=leased.token, output=ACCEPTED)
    row = row_of(leased.id)
    at = row.lease_until
    assert at is not None

    with pytest.raises(Illegal):
        apply(row, Move(kind, row.id, at, {"token": str(row.token), **data}, row.fence + 99))


@pytest.mark.parametrize("kind", [RecordType.STARTED, RecordType.ARRIVED, RecordType.FAILED])
def test_the_channels_moves_are_for_the_channels_deliveries(clock, kind):
    factories.submission(factories.work())
    leased = factories.claimed(factories.box()).row
    data: dict[str, Scalar] = {"token": str(leased.token), "seconds": 100, "outcome": str(keys.new_id()), "reason": "no"}

    assert leased.claimed_at is not None

    with pytest.raises(Illegal):
        apply(leased, Move(kind, leased.id, leased.claimed_at, data, 9))


def test_an_operator_cannot_take_what_has_arrived(box):
    row = claimed(box)
    outcome = outcome_of(row.id, box, ACCEPTED)

    for act in (queue.cancel, queue.give_back):
        with pytest.raises(JobStateWrong):
            act(row.id, by="user:1", reason="no")
    assert queue.revoke(box, by="user:1", reason="stolen") == []
    assert queue.sweep().orphaned == 0
    queue.process(outcome)
    assert Job.objects.get(id=row.id).state == "completed"


def test_deleting_a_submission_drops_an_outcome_that_waits(box):
    row = claimed(box)
    outcome = outcome_of(row.id, box, ACCEPTED)
    queue.delete_submission(row.submission, by="user:1", reason="withdrawn")

    assert not queue.process(outcome)

    assert Job.objects.get(id=row.id).state == "cancelled"
    assert not Result.objects.exists()


def test_what_a_run_left_behind_leaves_with_its_job(box, clock):
    row = claimed(box)
    finished(box, row)
    problem = Problem.objects.get().id
    assert outputs.read(problem, row.id) == ACCEPTED
    clock.forward(days=31)

    queue.prune(before=clock.now() - timedelta(days=30), lanes=[row.lane])

    assert not Outcome.objects.exists()
    assert outputs.read(problem, row.id) is None
    assert Result.objects.get().verdict == "Accepted"
