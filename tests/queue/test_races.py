"""Races with one right outcome (queue.md §5), forced by a lock that the test holds, not by luck."""

import importlib
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from django.db import connection, transaction

from contests.models import Activity, Round
from contests.routing import assign, retag_activity, retag_round
from judging import queue
from judging.errors import KeyReused, LeaseStale, SubmissionLimit
from judging.models import Job, Lane, LedgerRecord, Problem, Result, Submission, Thread
from judging.queue import ClaimedJob, Nothing, Receipt, reap
from judging.queue.claim import CLAIM
from runners.keys import new_id
from tests.locks import until_waiting
from tests.meeting import in_threads, one_after_the_other, thread_locked
from tests.queue.conftest import ACCEPTED, OPERATOR, WRONG, claimed, release, renew, report, stored

claim_verb = importlib.import_module("judging.queue.claim")  # the package says claim() by this name


def test_two_claims_at_one_thread_give_it_to_one(hall):
    receipt = hall.submit()
    runners = [hall.runner(f"box {n}") for n in range(8)]
    answers = in_threads(*(lambda box=box: queue.claim(box) for box in runners))

    winners = [answer for answer in answers if isinstance(answer, ClaimedJob)]
    assert [winner.row.id for winner in winners] == [receipt.job]
    assert all(isinstance(answer, Nothing) for answer in answers if answer not in winners)


def test_a_claim_says_that_it_passed_work_by_which_somebody_held(hall, box_1):
    receipt = hall.submit()
    with thread_locked(receipt.job):
        (passed,) = in_threads(lambda: queue.claim(box_1))

    assert passed is Nothing.PASSED_BY
    assert claimed(box_1).row.id == receipt.job


def test_work_held_that_this_runner_may_not_take_is_none_it_passed_by(hall):
    receipt = hall.submit()
    elsewhere = hall.runner("elsewhere", tags=("finals",))
    with thread_locked(receipt.job):
        (answer,) = in_threads(lambda: queue.claim(elsewhere))

    assert answer is Nothing.WANT_OF_WORK


@pytest.mark.parametrize("lasts", [True, False], ids=["commits", "is killed"])
@pytest.mark.parametrize("siblings", [0, 1])
def test_a_claim_under_way_hides_its_whole_thread_from_others(hall, box_1, box_2, siblings, lasts):
    """The first claim is held just before its COMMIT; the second neither waits for it nor takes the sibling."""
    receipt = hall.submit(thread_key="t")
    for _ in range(siblings):
        hall.submit(thread_key="t")
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(CLAIM, [box_1, 600, False])
            assert cursor.fetchone()[0] == "held"
        (meanwhile,) = in_threads(lambda: queue.claim(box_2))
        transaction.set_rollback(not lasts)

    assert meanwhile is Nothing.PASSED_BY
    if lasts:
        assert queue.claim(box_2) is Nothing.WANT_OF_WORK
        assert stored(receipt.job).runner_id == box_1
    else:
        assert claimed(box_2).row.id == receipt.job


@pytest.mark.parametrize("lasts", [True, False], ids=["commits", "is killed"])
def test_a_retry_that_meets_its_first_send_under_way_is_told_what_became_of_it(hall, lasts):
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            first = hall.submit_within(key="k")
            retry = pool.submit(in_threads, lambda: hall.submit(key="k"))
            until_waiting(1)
            transaction.set_rollback(not lasts)
        (receipt,) = retry.result(60)

    assert (receipt.existing, receipt.job == first.job) == (lasts, lasts)
    assert Submission.objects.count() == 1


def test_claims_at_once_take_different_jobs_and_none_is_left(hall):
    receipts = {hall.submit().job for _ in range(8)}
    runners = [hall.runner(f"box {n}") for n in range(8)]
    answers = in_threads(*(lambda box=box: queue.claim(box) for box in runners))

    assert {answer.row.id for answer in answers} == receipts


def test_a_claim_never_waits_for_a_thread_that_somebody_works_on(hall, box_1):
    locked, free = hall.submit(), hall.submit()
    with thread_locked(locked.job):
        answers = in_threads(lambda: queue.claim(box_1), lambda: queue.claim(box_1))

    assert [answer.row.id for answer in answers if isinstance(answer, ClaimedJob)] == [free.job]


@pytest.mark.parametrize("first", ["report", "cancel"])
def test_report_and_cancel_the_first_commit_decides(hall, box_1, first):
    hall.submit()
    job = claimed(box_1)
    acts = {"report": lambda: report(job), "cancel": lambda: queue.cancel(job.row.id, by=OPERATOR, reason="no")}
    order = [first, *(name for name in acts if name != first)]
    answers = one_after_the_other(job.row.id, *(acts[name] for name in order))

    if first == "report":
        assert answers[1].code == "job.state"
        assert stored(job.row.id).state == "completed"
    else:
        assert answers[1].code == "runner.lease.stale"
        assert not Result.objects.exists()


def test_a_renewal_that_is_first_at_the_lock_saves_its_lease(hall, box_1, box_2, clock):
    hall.submit()
    job = claimed(box_1)
    clock.forward(seconds=700)
    one_after_the_other(job.row.id, lambda: renew(job))

    assert queue.sweep().lapsed == 0
    assert queue.claim(box_2) is Nothing.WANT_OF_WORK
    assert report(job).state == "completed"


def test_a_renewal_that_comes_after_the_take_over_is_stale(hall, box_1, box_2, clock):
    hall.submit()
    job = claimed(box_1)
    clock.forward(seconds=5000)
    fresh = claimed(box_2)

    assert isinstance(in_threads(lambda: renew(job))[0], LeaseStale)
    assert stored(job.row.id).token == fresh.row.token


def test_a_sweep_passes_by_a_thread_that_somebody_works_on(hall, box_1, clock):
    hall.submit()
    job = claimed(box_1)
    clock.forward(seconds=5000)
    with thread_locked(job.row.id):
        (swept,) = in_threads(queue.sweep)

    assert (swept.lapsed, swept.bad) == (0, 0)


def test_a_report_that_commits_between_a_sweeps_look_and_its_lock_stands(hall, box_1, clock, monkeypatch):
    receipt = hall.submit()
    job = claimed(box_1)
    clock.forward(seconds=601)
    looked = reap._lapsed

    def look_then_be_overtaken():
        found = looked()
        in_threads(lambda: report(job))
        return found

    monkeypatch.setattr(reap, "_lapsed", look_then_be_overtaken)
    assert queue.sweep().lapsed == 0
    assert stored(receipt.job).state == "completed"


@pytest.mark.parametrize("overtaken_by", ["another sweep", "a claim"])
def test_a_sweep_overtaken_between_its_look_and_its_lock_handles_nothing_twice(hall, box_1, clock, monkeypatch, overtaken_by):
    receipt, other = hall.submit(), hall.runner("another box")
    claimed(box_1)
    clock.forward(seconds=601)
    looked = reap._lapsed

    def look_then_be_overtaken():
        found = looked()
        monkeypatch.setattr(reap, "_lapsed", looked)
        in_threads(queue.sweep if overtaken_by == "another sweep" else lambda: queue.claim(other))
        return found

    monkeypatch.setattr(reap, "_lapsed", look_then_be_overtaken)
    assert queue.sweep().lapsed == 0
    assert LedgerRecord.objects.filter(type="expired").count() == 1
    assert stored(receipt.job).state == ("queued" if overtaken_by == "another sweep" else "running")


def test_a_claim_whose_lapsed_lease_a_sweep_ended_first_takes_the_job_all_the_same(hall, box_1, box_2, clock, monkeypatch):
    receipt = hall.submit()
    claimed(box_1)
    clock.forward(seconds=601)
    tidy = claim_verb._tidy

    def be_overtaken_then_tidy(runner):
        in_threads(queue.sweep)
        tidy(runner)

    monkeypatch.setattr(claim_verb, "_tidy", be_overtaken_then_tidy)
    assert claimed(box_2).row.id == receipt.job
    assert LedgerRecord.objects.filter(type="expired").count() == 1


@pytest.mark.parametrize("first", ["report", "revoke"])
def test_report_and_revocation_the_first_commit_decides(hall, box_1, first):
    hall.submit()
    job = claimed(box_1)
    acts = {"report": lambda: report(job), "revoke": lambda: queue.revoke(box_1, by=OPERATOR, reason="lost")}
    order = [first, *(name for name in acts if name != first)]
    answers = one_after_the_other(job.row.id, *(acts[name] for name in order))

    if first == "report":
        assert (answers[1], stored(job.row.id).state) == ([], "completed")
    else:
        assert answers[1].code == "runner.lease.stale"
        assert stored(job.row.id).state == "queued"


@pytest.mark.parametrize("first", ["report", "rejudge"])
def test_report_and_rejudge_both_succeed_in_either_order(hall, box_1, first):
    receipt = hall.submit()
    job = claimed(box_1)
    acts = {"report": lambda: report(job), "rejudge": lambda: hall.rejudge(receipt.submission)}
    order = [first, *(name for name in acts if name != first)]
    one_after_the_other(job.row.id, *(acts[name] for name in order))

    assert stored(job.row.id).state == "completed"
    assert claimed(box_1).row.attempt == 2


def test_no_hand_out_is_committed_after_a_revocation(hall, box_1):
    for _ in range(20):
        hall.submit()
    answers = in_threads(
        *(lambda: [queue.claim(box_1) for _ in range(5)] for _ in range(3)),
        lambda: queue.revoke(box_1, by=OPERATOR, reason="lost"),
    )

    assert not Job.objects.filter(runner=box_1, state="running").exists()
    assert isinstance(answers[3], list)


def test_a_submit_retried_fifty_times_at_once_is_one_submission(hall):
    receipts = in_threads(*[lambda: hall.submit(key="k")] * 50)

    assert len({receipt.submission for receipt in receipts}) == 1
    assert sum(not receipt.existing for receipt in receipts) == 1
    assert (Submission.objects.count(), Thread.objects.count()) == (1, 1)


def test_one_key_for_fifty_threads_at_once_is_one_submission_and_refusals(hall):
    acts = [lambda n=n: hall.submit(key="k", thread_key=f"contestant:{n}") for n in range(50)]
    answers = in_threads(*acts)

    assert sum(isinstance(answer, KeyReused) for answer in answers) == 49
    assert Submission.objects.count() == 1


def test_two_rejudges_at_once_leave_one_waiting(hall):
    receipt = hall.submit()
    in_threads(*[lambda: hall.rejudge(receipt.submission)] * 8)

    assert Job.objects.filter(state="queued").count() == 1
    assert sorted(Job.objects.values_list("attempt", flat=True)) == list(range(1, 10))


def test_urgent_rejudges_at_once_leave_the_latest(hall):
    receipt = hall.submit()
    in_threads(*[lambda: hall.rejudge(receipt.submission, urgent=True)] * 8)

    assert Job.objects.get(state="queued").attempt == 9


def test_two_sweeps_and_a_claim_at_once_take_each_lapsed_job_back_once(hall, box_1, box_2, clock):
    for _ in range(10):
        hall.submit()
        claimed(box_1)
    clock.forward(seconds=601)
    answers = in_threads(queue.sweep, queue.sweep, lambda: queue.claim(box_2))

    assert LedgerRecord.objects.filter(type="expired").count() == 10
    taken = isinstance(answers[2], ClaimedJob)
    assert Job.objects.filter(state="queued").count() == 10 - taken


def test_two_queued_siblings_never_both_run(hall):
    """Eight runners, rejudging all along, 200 rounds: at no moment two jobs of one submission run."""
    receipt = hall.submit()
    runners = [hall.runner(f"box {n}") for n in range(8)]
    seen: list[int] = []

    def judge(box):
        for n in range(25):
            job = queue.claim(box)
            running = Job.objects.filter(submission=receipt.submission, state="running").count()
            seen.append(running)
            if n % 3 == 0:
                hall.rejudge(receipt.submission)
            if isinstance(job, ClaimedJob):
                (release if n % 2 else report)(job)

    in_threads(*(lambda box=box: judge(box) for box in runners))
    assert set(seen) <= {0, 1}
    assert 1 in seen


def test_the_same_report_from_two_connections_at_once_is_one_result(hall, box_1):
    hall.submit()
    job = claimed(box_1)
    answers = in_threads(*[lambda: report(job, ACCEPTED)] * 6, *[lambda: report(job, WRONG)] * 2)

    assert len({answer.result for answer in answers}) == 1
    assert sum(not answer.duplicate for answer in answers) == 1


def test_parallel_sends_of_one_author_never_exceed_the_limit(hall):
    author = new_id()
    answers = in_threads(*[lambda: hall.submit(author=author, at_most=3)] * 8)

    assert sum(isinstance(answer, SubmissionLimit) for answer in answers) == 5
    assert (Submission.objects.count(), Thread.objects.count()) == (3, 3)


def test_parallel_sends_under_one_key_are_one_submission_where_there_is_room_for_one(hall):
    author = new_id()
    answers = in_threads(*[lambda: hall.submit(author=author, at_most=1, key="k", scope="s")] * 8)

    assert {type(answer) for answer in answers} == {Receipt}
    assert sorted(answer.existing for answer in answers) == [False] + [True] * 7
    assert (Submission.objects.count(), Thread.objects.count()) == (1, 1)


def test_a_deleted_submission_makes_room_again(hall):
    author = new_id()
    receipt = hall.submit(author=author, at_most=1)
    queue.delete_submission(receipt.submission, by=OPERATOR, reason="withdrawn")

    assert hall.submit(author=author, at_most=1)


def test_a_round_and_its_activity_retagged_at_once_leave_the_lanes_as_the_rows_say(hall):
    activity = Activity.objects.create(slug="finals", title="Finals")
    round_ = Round.objects.create(activity=activity, title="One")
    lane = assign(round_, Problem.objects.get(), slug="A").lane_id
    for room in "abcdefghij":
        retag_round(round_.id, pools=[])
        in_threads(partial(retag_activity, activity.id, pools=["hall"]), partial(retag_round, round_.id, pools=[room]))

        assert Lane.objects.get(id=lane).pools == [room]
