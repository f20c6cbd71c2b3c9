"""Verbs in one statement, and threads in one transaction, met by others: what they wait for, and what is left when they wait too long."""

import importlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from django.db import OperationalError, connection, transaction

from judging import queue
from judging.errors import RunnerNotApproved, StorageBusy, StorageUnavailable
from judging.models import Delivery, Job, Lane, LedgerRecord, Maintenance, Problem, ProblemVersion, Result
from judging.queue import Nothing
from judging.states import Priority
from runners import enrol
from runners.models import Runner
from tests.kill.scenes import stands
from tests.kill.test_bounds import bounded
from tests.ledger.conftest import equal
from tests.locks import until_waiting
from tests.meeting import in_threads, one_after_the_other
from tests.queue.conftest import OPERATOR, Hall, claimed, report, stored

pytestmark = pytest.mark.django_db(transaction=True)
reap = importlib.import_module("judging.queue.reap")
MORE_THAN_ONE_CLAIM_LOOKS = 17


def test_a_claim_that_gave_up_as_many_as_it_may_is_to_look_again_soon(hall, box_1):
    """What stands behind them was announced long ago: nobody will wake this runner for it."""
    Problem.objects.update(max_deliveries=1)
    for _ in range(MORE_THAN_ONE_CLAIM_LOOKS):
        hall.submit()
    for job in [claimed(box_1).row.id for _ in range(MORE_THAN_ONE_CLAIM_LOOKS)]:
        queue.give_back(job, by=OPERATOR, reason="stuck")
    wanted = hall.submit()

    assert queue.claim(box_1) is Nothing.PASSED_BY
    assert claimed(box_1).row.id == wanted.job
    assert Job.objects.filter(state="failed").count() == MORE_THAN_ONE_CLAIM_LOOKS


@pytest.mark.parametrize("verb", ["claim", "report"])
def test_a_verb_that_waits_too_long_in_its_middle_leaves_nothing_of_itself(hall, box_1, verb):
    """A claim waits for its runner's row before it does anything, a report after it has written nearly everything."""
    hall.submit()
    hall.submit()
    job = claimed(box_1)
    act = {"claim": lambda: queue.claim(box_1), "report": lambda: report(job)}[verb]
    before = stands(connection)
    with transaction.atomic():
        Runner.objects.select_for_update().get(id=box_1)
        met = bounded(act, "lock_timeout")

    assert isinstance(met, StorageBusy)
    assert stands(connection) == before
    act()
    assert stands(connection) != before
    equal()


def test_a_report_behind_a_delete_and_a_delete_behind_a_report_each_find_what_the_first_left(hall, box_1):
    for order in (1, -1):
        receipt = hall.submit()
        job = claimed(box_1)
        acts: list[Callable[[], Any]] = [
            partial(report, job),
            partial(queue.delete_submission, receipt.submission, by=OPERATOR, reason="gone"),
        ]
        said, _ = one_after_the_other(job.row.id, *acts[::order])[::order]

        row = stored(job.row.id)
        taken = order == 1
        assert (row.state, row.marked, Result.objects.filter(job=row.id).exists()) == (
            "completed" if taken else "cancelled", not taken, taken,
        )  # fmt: skip
        assert taken or said.code == "runner.lease.stale"
    equal()


def test_what_a_report_uncovers_is_what_its_thread_holds_after_the_lock(hall, box_1):
    """Three verbs wait for one thread before the report does: it is to see all they leave, though it began before they ended."""
    first = hall.submit(thread_key="t")
    job = claimed(box_1)
    waits, doomed = hall.submit(thread_key="t"), hall.submit(thread_key="t")
    one_after_the_other(
        job.row.id,
        lambda: queue.cancel(waits.job, by=OPERATOR, reason="no"),
        lambda: queue.prioritise(doomed.job, Priority.JURY, by=OPERATOR, reason="later"),
        lambda: hall.rejudge(first.submission, urgent=True),
        lambda: report(job),
    )

    urgent = Job.objects.get(submission=first.submission, attempt=2)
    assert (stored(job.row.id).state, stored(doomed.job).state, stored(doomed.job).replaced_by) == ("completed", "superseded", urgent.id)
    assert claimed(box_1).row.id == urgent.id
    equal()


@pytest.mark.parametrize("meets_at", ["early", "late"])
def test_a_sweep_and_a_rerouting_of_the_same_resting_lanes_never_wait_for_each_other_crosswise(hall, box_1, clock, monkeypatch, meets_at):
    """What lapsed first is in the lane that a rerouting takes last, though it lies first in its table."""
    early, late = hall.other_lane(id=UUID(int=1)), hall.lane
    for lane in (late, early):
        hall.submit(lane=lane)
        claimed(box_1)
        clock.forward(seconds=1)
    queue.sweep()
    assert not Lane.objects.filter(active=True).exists()
    for lane in (early, early):
        Lane.objects.filter(id=lane).update(paused_reason="")  # which lays it behind the other in its table
    clock.forward(seconds=601)
    alone: list[object] = []
    monkeypatch.setattr(reap, "_alone", lambda *them: alone.append(them))

    with ThreadPoolExecutor(2) as pool:
        with transaction.atomic():
            Lane.objects.select_for_update(no_key=True).get(id={"early": early, "late": late}[meets_at])
            rerouting = pool.submit(in_threads, lambda: queue.reroute([late, early], pools=["finals"]))
            until_waiting(1)
            sweeping = pool.submit(in_threads, queue.sweep)
            until_waiting(2)
        [rerouted], [swept] = rerouting.result(60), sweeping.result(60)

    assert (rerouted, swept.lapsed, swept.bad, alone) == (2, 2, 0, [])
    assert Lane.objects.filter(active=True, pools=["finals"]).count() == 2


def test_sweeps_reports_and_cancels_among_threads_of_many_lanes_end_each_hold_once(hall, clock):
    lanes = [hall.lane, *(hall.other_lane() for _ in range(3))]
    boxes = [hall.runner(f"box {n}") for n in range(3)]
    held = []
    for n in range(24):
        hall.submit(lane=lanes[n * 7 % 4])
        held.append(claimed(boxes[n % 3]))
    queue.sweep()
    clock.forward(seconds=601)

    def reports():
        return [report(job).state for job in held[::-3]]

    def cancels():
        for job in held[1::4]:
            queue.cancel(job.row.id, by=OPERATOR, reason="no")

    revoke = partial(queue.revoke, boxes[0], by=OPERATOR, reason="lost")
    swept = in_threads(queue.sweep, queue.sweep, reports, cancels, revoke)[:2]

    assert sum(one.bad for one in swept) == 0
    assert sum(one.lapsed for one in swept) == LedgerRecord.objects.filter(type="expired").count()
    assert sum(one.orphaned for one in swept) == LedgerRecord.objects.filter(type="requeued", actor="reaper").count()
    assert not Job.objects.filter(state="running").exists()
    assert not Delivery.objects.filter(ended_at=None).exists()
    equal()


def test_a_sweep_whose_database_goes_away_stops_at_once_and_the_next_one_goes_on(hall, box_1, clock, monkeypatch):
    for _ in range(3 * reap.TOGETHER):
        hall.submit()
        claimed(box_1)
    clock.forward(seconds=601)
    lapsed, tried = reap._lapsed(), []

    def gone(*_: object) -> None:
        tried.append(1)
        connection.close()
        raise OperationalError("the server closed the connection unexpectedly")

    with monkeypatch.context() as patched:
        patched.setattr(reap, "_lapsed", lambda: lapsed)
        patched.setattr("django.db.backends.base.base.BaseDatabaseWrapper.ensure_connection", gone)
        connection.close()
        with pytest.raises(StorageUnavailable):
            queue.sweep()

    assert len(tried) < reap.TOGETHER
    assert queue.sweep().lapsed == 3 * reap.TOGETHER


def _meanwhile(hall, box: UUID, receipt: queue.Receipt) -> dict[str, Callable[[], Any]]:
    """What may become of the queue while a claim has begun and waits for its runner's row, whose lock is the test's own."""
    row = Runner.objects.filter(id=box)
    return {
        "maintenance": lambda: in_threads(partial(queue.switch_maintenance, Maintenance.CLOSED, reason="power")),
        "no external judging": lambda: in_threads(partial(queue.switch_external, False)),
        "a pause": lambda: in_threads(partial(queue.pause, hall.lane, reason="wrong data")),
        "a rerouting": lambda: in_threads(partial(queue.reroute, [hall.lane], pools=["finals"])),
        "a cancel": lambda: in_threads(partial(queue.cancel, receipt.job, by=OPERATOR, reason="no")),
        "a withdrawal": lambda: in_threads(partial(queue.delete_submission, receipt.submission, by=OPERATOR, reason="no")),
        "an urgent rejudge": lambda: in_threads(partial(hall.rejudge, receipt.submission, urgent=True)),
        "a revocation": lambda: enrol.revoke(box, reason="lost"),
        "other tags": lambda: row.update(tags=["finals"]),
        "other problem types": lambda: row.update(problem_types=["icpc@1"]),
    }


WHILE_A_CLAIM_WAITS = {
    "maintenance": Nothing.SHUT,
    "no external judging": Nothing.SHUT,
    "a pause": Nothing.WANT_OF_WORK,
    "a rerouting": Nothing.WANT_OF_WORK,
    "a cancel": Nothing.WANT_OF_WORK,
    "a withdrawal": Nothing.WANT_OF_WORK,
    "an urgent rejudge": 2,
    "a revocation": "unapproved",
    "other tags": Nothing.WANT_OF_WORK,
    "other problem types": Nothing.WANT_OF_WORK,
}
"""What the claim comes to: nothing, the number of the attempt it takes, or a refusal."""


@pytest.mark.parametrize("what", WHILE_A_CLAIM_WAITS)
def test_a_claim_that_began_before_sees_everything_that_was_committed_before_it_chose(hall, what):
    """Its one statement began earlier than all of it; each statement within looks anew."""
    problem = Problem.objects.create(slug="b", title="B", external=True)
    version = ProblemVersion.objects.create(problem=problem, number=1).id
    hall = Hall(version, hall.other_lane(problem=problem, external=True))
    box = hall.runner("outside", external=True)
    queue.switch_external(True)
    receipt = hall.submit()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            Runner.objects.select_for_update().get(id=box)
            claiming = pool.submit(in_threads, partial(_attempt, box))
            until_waiting(1)
            _meanwhile(hall, box, receipt)[what]()
        [answer] = claiming.result(60)

    assert answer == WHILE_A_CLAIM_WAITS[what]
    equal()


def _attempt(box: UUID) -> object:
    """The attempt that a claim takes, or why it takes none."""
    try:
        answer = queue.claim(box)
    except RunnerNotApproved:
        return "unapproved"
    return answer.row.attempt if isinstance(answer, queue.ClaimedJob) else answer
