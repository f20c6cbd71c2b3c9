"""Judging many again as one decision: opened once each whatever dies, kept aside, applied at once or never."""

import threading

import pytest
from django.core.management import call_command
from django.db import connections

from judging import queue, rejudging
from judging.models import Job, Rejudging, RejudgingItem, Result
from judging.queue import Report
from judging.rejudging import Wanted
from judging.states import Priority
from tests import factories

pytestmark = pytest.mark.django_db(transaction=True)
BY = "user:1"


@pytest.fixture
def box(transactional_db):
    return factories.box()


def judge(box, verdict="Accepted", score=100.0):
    """Claim one job and report it; its id."""
    job = factories.claimed(box)
    queue.report(job.row.id, Report(verdict=verdict, score=score, max_score=100.0), token=job.row.token, runner=box.id)
    return job.row.id


def judged(box, count=1, verdict="Accepted", score=100.0):
    """Submissions that have a verdict."""
    made = []
    for _ in range(count):
        made.append(factories.submission().submission)
        judge(box, verdict, score)
    return made


def begun(submissions, **wanted):
    return Rejudging.objects.get(id=rejudging.begin(submissions, by=BY, wanted=Wanted(reason="new tests", **wanted)))


def work_off():
    while queue.work_off():
        pass


def notes(batch):
    return sorted(batch.items.filter(state="skipped").values_list("note", flat=True))


def state_of(batch):
    batch.refresh_from_db()
    return batch.state


def counting(submission):
    """The verdict that counts."""
    from contests.sent import current
    from judging.rejudging import set_aside

    job = current(list(Job.objects.filter(submission=submission).annotate(aside=set_aside()).order_by("-attempt")))
    return Result.objects.get(job=job.id).verdict if job else None


def test_beginning_opens_nothing_and_the_sweep_opens_each_once(box):
    submissions = judged(box, 3)
    batch = begun(submissions)
    assert Job.objects.filter(attempt=2).count() == 0

    queue.sweep()
    queue.sweep()

    assert Job.objects.filter(attempt=2, state="queued", priority=3).count() == 3
    assert state_of(batch) == "done"


def test_it_is_worked_off_in_chunks_and_goes_on_where_it_was_left(box):
    batch = begun(judged(box, 3))

    assert queue.work_off(2) == 2
    assert state_of(batch) == "working"
    work_off()

    assert Job.objects.filter(attempt=2).count() == 3
    assert Job.objects.filter(attempt=3).count() == 0


def test_the_command_works_everything_off(box, capsys):
    batch = begun(judged(box, 2))

    call_command("rejudge")

    assert "2 attempts" in capsys.readouterr().out
    assert state_of(batch) == "done"


def test_a_worker_that_dies_between_leaves_no_attempt_without_its_item(box, monkeypatch):
    batch = begun(judged(box))
    monkeypatch.setattr("judging.hold.Hold.write", lambda self: (_ for _ in ()).throw(SystemExit))
    with pytest.raises(SystemExit):
        queue.work_off()
    monkeypatch.undo()

    assert (batch.items.get().state, Job.objects.filter(attempt=2).count()) == ("waiting", 0)
    work_off()
    assert (batch.items.get().state, Job.objects.filter(attempt=2).count()) == ("opened", 1)


def test_one_that_cannot_be_opened_does_not_stop_the_others(box, monkeypatch):
    submissions = judged(box, 2)
    batch = begun(submissions)
    from judging.queue import work_off as verb

    opens = verb.__globals__["open_job"]

    def fails_for_one(held, submission, **more):
        if submission.id == submissions[0]:
            raise RuntimeError("broken")
        opens(held, submission, **more)

    monkeypatch.setitem(verb.__globals__, "open_job", fails_for_one)
    queue.work_off()

    assert [item.state for item in batch.items.order_by("id")] == ["waiting", "opened"]


def test_many_workers_at_once_open_each_once(box):
    begun(judged(box, 6))

    def work():
        work_off()
        connections.close_all()

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert Job.objects.filter(attempt=2).count() == 6
    assert Job.objects.filter(attempt=3).count() == 0


def test_what_waits_already_is_skipped_with_a_note(box):
    waiting = factories.submission().submission
    batch = begun([waiting])

    work_off()

    assert notes(batch) == ["already queued: an attempt at it waits"]
    assert Job.objects.get(submission=waiting).state == "queued"


def test_two_rejudgings_begun_at_the_same_moment_open_one_attempt(box):
    submissions = judged(box, 2)
    begun_by = []

    def start():
        begun_by.append(rejudging.begin(submissions, by=BY, wanted=Wanted(reason="twice")))
        connections.close_all()

    both = [threading.Thread(target=start) for _ in range(2)]
    for each in both:
        each.start()
    for each in both:
        each.join()
    work_off()

    assert Job.objects.filter(attempt=2).count() == 2
    skipped = RejudgingItem.objects.filter(state="skipped")
    assert skipped.count() == 2
    assert {str(item.note).split(" has it")[0] for item in skipped} <= {f"rejudging …{str(id_)[-12:]}" for id_ in begun_by}


def test_overlap_lists_what_was_left_out_and_takes_the_rest(box):
    submissions = judged(box, 3)
    begun(submissions[:2])

    second = begun(submissions)

    assert sorted(second.items.filter(state="skipped").values_list("submission", flat=True)) == sorted(submissions[:2])
    assert list(second.items.filter(state="waiting").values_list("submission", flat=True)) == [submissions[2]]


def test_a_withdrawn_submission_is_skipped(box):
    [submission] = judged(box)
    batch = begun([submission])
    queue.delete_submission(submission, by=BY, reason="gone")

    work_off()

    assert notes(batch) == ["the submission was withdrawn"]


def test_one_that_is_held_gets_its_attempt_after_it(box):
    submission = factories.submission().submission
    factories.claimed(box)
    begun([submission])

    work_off()

    assert sorted(Job.objects.values_list("attempt", "state")) == [(1, "running"), (2, "queued")]


def test_repeats_are_judged_one_after_the_other(box):
    [submission] = judged(box)
    batch = begun([submission], repeats=3)

    for attempt in (2, 3, 4):
        work_off()
        assert Job.objects.get(state="queued").attempt == attempt
        judge(box)
    work_off()

    assert state_of(batch) == "done"


def test_results_kept_aside_count_when_they_are_applied_and_not_before(box):
    [submission] = judged(box, verdict="Wrong answer", score=0.0)
    batch = begun([submission], aside=True)
    work_off()
    assert state_of(batch) == "open"
    with pytest.raises(rejudging.StillJudging):
        rejudging.apply(batch.id, by=BY)
    judge(box, "Accepted")

    assert counting(submission) == "Wrong answer"
    assert rejudging.compare(batch).matrix == {("Wrong answer", "Accepted"): 1}
    assert rejudging.apply(batch.id, by=BY) == 1

    assert counting(submission) == "Accepted"
    assert state_of(batch) == "applied"


def test_cancelling_what_was_kept_aside_leaves_what_counted(box):
    submissions = judged(box, 2, verdict="Wrong answer")
    batch = begun(submissions, aside=True)
    work_off()
    judge(box, "Accepted")

    rejudging.cancel(batch.id, by=BY)
    work_off()

    assert [counting(each) for each in submissions] == ["Wrong answer", "Wrong answer"]
    assert not Job.objects.filter(state__in=["queued", "running"]).exists()
    assert state_of(batch) == "cancelled"


def test_cancelling_opens_no_more_and_ends_what_waits_but_not_what_is_held(box):
    submissions = judged(box, 3)
    batch = begun(submissions)
    queue.work_off(2)
    held = factories.claimed(box)

    rejudging.cancel(batch.id, by=BY)
    work_off()

    assert Job.objects.get(id=held.row.id).state == "running"
    assert sorted(Job.objects.filter(attempt=2).values_list("state", flat=True)) == ["cancelled", "running"]
    assert notes(batch) == ["the rejudging was cancelled before"]
    assert [counting(each) for each in submissions if each != held.row.submission] == ["Accepted", "Accepted"]


def test_what_is_over_is_neither_applied_nor_cancelled(box):
    batch = begun(judged(box))
    work_off()

    with pytest.raises(rejudging.NotToBeApplied):
        rejudging.apply(batch.id, by=BY)
    with pytest.raises(rejudging.NotToBeCancelled):
        rejudging.cancel(batch.id, by=BY)


def test_an_attempt_that_was_given_up_or_voided_changes_nothing_when_applied(box):
    submissions = judged(box, 2, verdict="Wrong answer")
    batch = begun(submissions, aside=True)
    work_off()
    queue.void(judge(box, "Accepted"), by=BY, reason="the machine was hot")
    for _ in range(5):
        job = factories.claimed(box)
        queue.report(job.row.id, Report(infrastructure_failure=True, failure_reason="disk"), token=job.row.token, runner=box.id)

    assert rejudging.apply(batch.id, by=BY) == 0

    assert [counting(each) for each in submissions] == ["Wrong answer", "Wrong answer"]


def test_runs_that_do_not_agree_are_named(box):
    [submission] = judged(box)
    batch = begun([submission], repeats=2, aside=True)
    work_off()
    judge(box, "Time limit exceeded", 0.0)
    work_off()
    judge(box, "Accepted", 100.0)
    work_off()

    found = rejudging.compare(batch)

    assert found.unsteady == 1
    assert [(change.old.words, change.new.words, change.unsteady) for change in found.changes] == [("Accepted", "Accepted", True)]


def test_whose_best_score_changes_is_told(box):
    author, work = factories.submission().submission, factories.work()
    judge(box)
    for score in (30.0, 50.0):
        last = factories.submission(work, author=author).submission
        judge(box, "Partial", score)
    batch = begun([last], aside=True)
    work_off()
    judge(box, "Wrong answer", 0.0)

    [standing] = rejudging.compare(batch).standings

    assert (standing.author, standing.old, standing.new) == (author, 50.0, 30.0)


def test_progress_counts_everything_once(box):
    submissions = judged(box, 3)
    waiting = factories.submission().submission
    batch = begun([*submissions, waiting])
    queue.work_off(2)

    found = rejudging.progress(batch)

    assert (found.total, found.waiting, found.queued) == (4, 2, 2)


def test_nothing_and_too_much_are_refused(box, monkeypatch):
    monkeypatch.setitem(rejudging.begin.__globals__, "MOST", 1)
    with pytest.raises(rejudging.NothingChosen):
        begun([])
    with pytest.raises(rejudging.TooManyChosen):
        begun(judged(box, 2))


def test_the_class_of_its_attempts_is_the_one_that_was_chosen(box):
    submissions = judged(box)

    begun(submissions, priority=Priority.CONTEST)
    work_off()

    assert Job.objects.get(attempt=2).priority == Priority.CONTEST


def test_without_a_class_its_attempts_are_rejudges(box):
    begun(judged(box))
    work_off()

    assert Job.objects.get(attempt=2).priority == Priority.REJUDGE


def test_an_urgent_one_is_urgent_whatever_class_was_chosen(box):
    begun(judged(box), urgent=True, priority=Priority.JURY)
    work_off()

    assert Job.objects.get(attempt=2).priority == Priority.URGENT
