"""What a lease is: seed 000, runner-protocol §4-6."""

import pytest
from django.db import transaction

from judging import queue
from judging.errors import (
    JobStateWrong,
    LeaseForeign,
    LeaseMalformed,
    LeaseStale,
    NotFound,
    RunnerNotApproved,
    VerdictMissing,
    VerdictTooLong,
)
from judging.models import Delivery, Problem, Result
from judging.queue import Nothing, Report
from judging.states import JobState
from runners import enrol
from runners.keys import new_id
from runners.models import Runner
from tests.queue.conftest import ACCEPTED, BROKEN, OPERATOR, WRONG, claimed, release, renew, report, stored, token_of


def test_a_runner_that_lost_its_lease_cannot_report(hall, box_1, box_2, clock):
    hall.submit()
    stale = claimed(box_1)
    clock.forward(seconds=601)
    queue.sweep()
    fresh = claimed(box_2)

    with pytest.raises(LeaseStale):
        report(stale)

    assert report(fresh, WRONG).state is JobState.COMPLETED
    assert Result.objects.get().verdict == "Wrong answer"


def test_a_killed_runners_job_is_attempt_one_of_the_same_job_under_a_new_token(hall, box_1, box_2, clock):
    receipt = hall.submit()
    first = claimed(box_1)
    renew(first)
    clock.forward(seconds=601)
    queue.sweep()
    second = claimed(box_2)

    assert (second.row.id, second.row.attempt, second.row.deliveries) == (receipt.job, 1, 2)
    assert second.row.token != first.row.token
    assert Delivery.objects.get(token=token_of(first)).ending == "expired"


@pytest.mark.parametrize(("past", "state"), [(599, "running"), (600, "queued"), (601, "queued")])
def test_the_sweep_takes_a_job_at_its_deadline_and_not_before(hall, box_1, clock, past, state):
    receipt = hall.submit()
    claimed(box_1)
    clock.forward(seconds=past)
    queue.sweep()

    assert stored(receipt.job).state == state


def test_an_expired_lease_that_nobody_took_still_renews_and_reports(hall, box_1, clock):
    hall.submit()
    job = claimed(box_1)
    clock.forward(seconds=700)

    assert renew(job).until > clock.now()
    assert report(job).state is JobState.COMPLETED


def test_renewing_never_shortens(hall, box_1, clock):
    hall.submit()
    job = claimed(box_1, lease_seconds=900)

    assert renew(job, seconds=60).until == job.row.lease_until
    clock.forward(seconds=100)
    assert renew(job, seconds=900).until > job.row.lease_until


def test_a_renewal_without_a_length_is_by_the_granted_lease(hall, box_1, clock):
    hall.submit()
    job = claimed(box_1, lease_seconds=120)
    clock.forward(seconds=50)

    assert 119 <= (renew(job).until - clock.now()).total_seconds() <= 120


@pytest.mark.parametrize(
    ("asked", "granted"), [(None, 600), (59, 60), (60, 60), (3600, 3600), (3601, 3600), (-5, 60), (1e300, 3600), (90.9, 90)]
)
def test_a_lease_is_clamped_and_never_refused(hall, box_1, asked, granted):
    hall.submit()

    assert claimed(box_1, lease_seconds=asked).row.granted == granted


def test_the_first_three_releases_are_free_and_the_eighth_fails_the_job(hall, box_1):
    receipt = hall.submit()
    counts = []
    for _ in range(8):
        release(claimed(box_1))
        counts.append(stored(receipt.job).deliveries)

    job = stored(receipt.job)
    assert counts == [0, 0, 0, 1, 2, 3, 4, 5]
    assert (job.state, job.reason) == ("failed", "Given up after 5 deliveries: released")
    assert queue.claim(box_1) is Nothing.WANT_OF_WORK


def test_three_claims_never_heard_of_are_free_and_the_eighth_fails_the_job(hall, box_1, clock):
    receipt = hall.submit()
    counts = []
    for _ in range(8):
        claimed(box_1)
        clock.forward(seconds=601)
        queue.sweep()
        counts.append(stored(receipt.job).deliveries)

    assert counts == [0, 0, 0, 1, 2, 3, 4, 5]
    assert stored(receipt.job).reason == "Given up after 5 deliveries: lease expired"


def test_a_delivery_heard_of_once_counts_when_it_is_lost(hall, box_1, clock):
    receipt = hall.submit()
    job = claimed(box_1)
    queue.progress(job.row.id, token=job.row.token, runner=box_1)
    clock.forward(seconds=1201)
    queue.sweep()

    assert (stored(receipt.job).deliveries, stored(receipt.job).refunds) == (1, 0)


@pytest.mark.parametrize(("verdict", "refusal"), [(" ", VerdictMissing), ("x" * 65, VerdictTooLong)])
def test_a_report_refused_for_its_verdict_was_heard_all_the_same(hall, box_1, verdict, refusal):
    """Anything a runner did answer against counts (seed 000)."""
    receipt = hall.submit()
    job = claimed(box_1)

    with pytest.raises(refusal):
        report(job, Report(verdict=verdict))
    assert (stored(receipt.job).state, stored(receipt.job).heard) == ("running", True)
    assert report(job).state is JobState.COMPLETED


def test_five_infrastructure_failures_fail_the_job_with_the_last_reason_and_no_score(hall, box_1):
    receipt = hall.submit()
    for n in range(5):
        answer = report(claimed(box_1), Report(infrastructure_failure=True, failure_reason=f"no disk {n}", score=3.0))

    result = Result.objects.get()
    assert (answer.state, answer.result) == (JobState.FAILED, result.id)
    assert stored(receipt.job).reason == "Given up after 5 deliveries: infrastructure failure: no disk 4"
    assert (result.verdict, result.score, result.failure_reason) == ("", None, "no disk 4")


def test_an_infrastructure_failure_below_the_cap_goes_back_with_its_reason_and_no_result(hall, box_1):
    receipt = hall.submit()
    answer = report(claimed(box_1), BROKEN)

    assert (answer.result, answer.state, answer.duplicate) == (None, JobState.QUEUED, False)
    assert stored(receipt.job).reason == "the checker crashed"


def test_the_same_report_twice_is_one_result(hall, box_1):
    hall.submit()
    job = claimed(box_1)
    first, again = report(job), report(job, WRONG)

    assert (first.duplicate, again.duplicate) == (False, True)
    assert first.result == again.result
    assert Result.objects.get().verdict == "Accepted"


def test_a_repeat_answers_the_state_of_now_for_ever(hall, box_1, clock):
    hall.submit()
    job = claimed(box_1)
    report(job)
    queue.void(job.row.id, by=OPERATOR, reason="wrong data")
    clock.forward(days=400)

    assert report(job).duplicate


def test_another_token_is_stale_even_from_the_owner_of_the_result(hall, box_1):
    hall.submit()
    job = claimed(box_1)
    report(job)

    with pytest.raises(LeaseStale):
        queue.report(job.row.id, ACCEPTED, token=new_id(), runner=box_1)


def test_a_leaked_token_is_foreign_in_another_runners_hands(hall, box_1, box_2):
    hall.submit()
    job = claimed(box_1)

    for call in (queue.renew, queue.progress, queue.release):
        with pytest.raises(LeaseForeign):
            call(job.row.id, token=job.row.token, runner=box_2)
    with pytest.raises(LeaseForeign):
        report(job, runner=box_2)


def test_a_result_another_runner_asks_for_by_its_token_is_stale(hall, box_1, box_2):
    hall.submit()
    job = claimed(box_1)
    report(job)

    with pytest.raises(LeaseStale):
        report(job, runner=box_2)


def test_no_lease_matches_no_token(hall, box_1):
    receipt = hall.submit()

    for call in (queue.renew, queue.progress, queue.release):
        with pytest.raises(LeaseStale):
            call(receipt.job, token=None, runner=box_1)
    with pytest.raises(LeaseMalformed):
        queue.report(receipt.job, ACCEPTED, token=None, runner=box_1)


def test_a_job_nobody_issued_is_not_found(hall, box_1):
    for call in (queue.renew, queue.progress, queue.release):
        with pytest.raises(NotFound):
            call(new_id(), token=new_id(), runner=box_1)


def test_a_cancelled_job_has_no_lease_any_more(hall, box_1):
    hall.submit()
    job = claimed(box_1)
    queue.cancel(job.row.id, by=OPERATOR, reason="the statement was wrong")

    with pytest.raises(LeaseStale):
        report(job)
    with pytest.raises(JobStateWrong):
        queue.cancel(job.row.id, by=OPERATOR, reason="again")
    assert not Result.objects.exists()


def test_an_undone_hand_out_is_given_back_three_times_and_counted_then(hall, box_1):
    receipt = hall.submit()
    counts = []
    for _ in range(4):
        job = claimed(box_1)
        queue.undo_handout(job.row.id, token=token_of(job))
        counts.append((stored(receipt.job).deliveries, stored(receipt.job).refunds))

    assert counts == [(0, 1), (0, 2), (0, 3), (1, 3)]


def test_a_hand_out_that_was_heard_of_is_not_undone(hall, box_1):
    receipt = hall.submit()
    job = claimed(box_1)
    renew(job)
    queue.undo_handout(job.row.id, token=token_of(job))

    assert stored(receipt.job).state == "running"


def test_an_operator_returns_a_held_job_and_fences_its_holder_off(hall, box_1, box_2):
    hall.submit()
    job = claimed(box_1)
    queue.give_back(job.row.id, by=OPERATOR, reason="box 1 is on fire")

    with pytest.raises(LeaseStale):
        renew(job)
    assert claimed(box_2).row.deliveries == 2


def test_a_revoked_runners_jobs_go_back_at_once_and_it_claims_no_more(hall, box_1, box_2):
    receipts = [hall.submit(), hall.submit()]
    held = [claimed(box_1), claimed(box_1)]

    assert set(queue.revoke(box_1, by=OPERATOR, reason="stolen")) == {receipt.job for receipt in receipts}
    with pytest.raises(RunnerNotApproved):
        queue.claim(box_1)
    with pytest.raises(LeaseStale):
        report(held[0])
    assert claimed(box_2).row.deliveries == 2


def test_revoking_five_times_never_fails_a_job_but_the_next_claim_gives_it_up(hall, clock):
    receipt = hall.submit()
    for n in range(5):
        runner = hall.runner(f"box {n}")
        claimed(runner)
        queue.revoke(runner, by=OPERATOR, reason="lent by the wrong school")
    assert (stored(receipt.job).state, stored(receipt.job).deliveries) == ("queued", 5)

    assert queue.claim(hall.runner()) is Nothing.WANT_OF_WORK
    assert stored(receipt.job).reason == "Given up after 5 deliveries: runner revoked"


def test_the_sweep_takes_back_what_a_revocation_that_died_halfway_left(hall, box_1):
    receipt = hall.submit()
    claimed(box_1)
    with transaction.atomic():
        enrol.revoke(box_1, reason="and then the process was killed")

    assert queue.sweep().orphaned == 1
    assert stored(receipt.job).state == "queued"


def test_a_forgotten_runners_lease_still_ends(hall, box_1):
    receipt = hall.submit()
    claimed(box_1)
    Runner.objects.filter(id=box_1).delete()
    queue.sweep()

    assert stored(receipt.job).state == "queued"


def test_two_sweeps_return_a_job_once(hall, box_1, clock):
    hall.submit()
    claimed(box_1)
    clock.forward(seconds=601)

    assert [queue.sweep().lapsed, queue.sweep().lapsed] == [1, 0]


def test_an_expired_lease_is_ended_by_the_next_claim_without_any_sweep(hall, box_1, box_2, clock):
    receipt = hall.submit()
    claimed(box_1)
    clock.forward(seconds=600)

    assert claimed(box_2).row.id == receipt.job


@pytest.mark.parametrize("seconds", [2**31 - 1, 2**31 - 60])
def test_the_longest_time_a_problem_may_take_stops_no_sweep(hall, box_1, box_2, clock, seconds):
    """One problem's number is added to another in the sweep's own statement, which is everybody's."""
    usual = hall.submit()
    claimed(box_1, lease_seconds=60)
    problem = Problem.objects.get()
    problem.timeout_seconds = seconds
    problem.full_clean()
    problem.save()
    hall.submit()
    claimed(box_2, lease_seconds=3600)
    clock.forward(seconds=100)

    assert queue.sweep().lapsed == 1

    assert stored(usual.job).state == "queued"
