"""What final results must never be: half rejudged, behind an outcome that waits, unproved, or different once jobs are removed."""

import json
from datetime import timedelta
from uuid import UUID

import pytest
from django.db.models.functions import Now

from contests import publishing
from contests.errors import ResultsOpen, ResultsUnproved
from contests.models import Activity, Publication
from contests.retention import prune_activities
from judging import queue, rejudging
from judging.audit import audit
from judging.models import Job, Problem
from judging.queue import Report
from judging.queue.process import process
from judging.rejudging import Wanted
from tests import factories
from tests.contests.conftest import send
from tests.kill.scenes import OUTPUT
from tests.meeting import in_threads
from tests.queue.conftest import token_of

pytestmark = pytest.mark.django_db(transaction=True)
RIGHT = Report(verdict="Accepted", score=1.0, max_score=1.0)
WRONG = Report(verdict="Wrong answer", score=0.0, max_score=1.0)
BROKEN = Report(infrastructure_failure=True, failure_reason="no disk")
OPERATOR = "user:1"


@pytest.fixture
def box(contest):
    return factories.box()


def held(box):
    """A job that the box takes, and how it reports on it."""
    row = factories.claimed(box).row
    return row.id, lambda said: queue.report(row.id, said, token=row.token, runner=box.id)


def judge(box, said=RIGHT):
    _, tell = held(box)
    tell(said)


def publish(contest):
    audit()
    return publishing.publish(contest.activity.id, by=OPERATOR, reason="over")


def rows(made):
    return json.loads(made.document)["results"]


def pruned(contest, clock):
    """Every finished job of the contest leaves the queue's tables, as it does a month after the end."""
    clock.forward(days=31)
    Activity.objects.filter(id=contest.activity.id).update(closes_at=Now() - timedelta(days=1))
    return prune_activities(keep=timedelta(0))


@pytest.mark.parametrize("aside", [False, True], ids=["counts as it comes", "kept aside"])
def test_nothing_is_published_while_a_rejudging_is_half_opened_unless_it_is_kept_aside(contest, student, box, aside):
    sent = [UUID(send(student, contest)["id"]) for _ in range(2)]
    judge(box)
    judge(box)
    rejudging.begin(sent, by=OPERATOR, wanted=Wanted(reason="new tests", aside=aside))
    queue.work_off(most=1)
    judge(box, WRONG)

    if aside:
        assert [row["verdict"] for row in rows(publish(contest))] == ["Accepted", "Accepted"]
        return
    with pytest.raises(ResultsOpen, match="1 attempt of this activity is still to be judged"):
        publish(contest)
    queue.work_off()
    judge(box, WRONG)
    assert [row["verdict"] for row in rows(publish(contest))] == ["Wrong answer", "Wrong answer"]


def test_nothing_is_published_while_an_outcome_that_came_too_late_waits_to_become_a_result(contest, student, box, clock):
    Problem.objects.update(max_deliveries=1)
    send(student, contest)
    job = queue.claim_on_channel(box.id)
    assert isinstance(job, queue.ClaimedJob)
    queue.start(job.row.id, token=token_of(job))
    clock.forward(seconds=600)
    queue.sweep()
    outcome = queue.finish(job.row.id, runner=box.id, token=token_of(job), output=OUTPUT)
    assert Job.objects.get(id=job.row.id).state == "failed"
    assert outcome is not None

    with pytest.raises(ResultsOpen, match="1 attempt of this activity is still to be judged"):
        publish(contest)
    process(outcome)
    assert rows(publish(contest))[0]["verdict"] == "Accepted"


def test_what_ended_without_a_verdict_after_the_audit_is_not_published_either(contest, student, box):
    Problem.objects.update(max_deliveries=1)
    send(student, contest)
    job, _ = held(box)
    audit()
    queue.give_back(job, by=OPERATOR, reason="stuck")
    queue.claim(box.id)
    assert Job.objects.get(id=job).state == "failed"

    with pytest.raises(ResultsUnproved):
        publishing.publish(contest.activity.id, by=OPERATOR, reason="over")
    assert rows(publish(contest))[0]["state"] == "failed"


def test_an_attempt_cancelled_after_the_audit_uncovers_an_older_verdict_that_must_be_proved_anew(contest, student, box):
    sent = UUID(send(student, contest)["id"])
    judge(box)
    again = queue.rejudge(sent, by=OPERATOR, reason="new tests")
    audit()
    queue.cancel(again, by=OPERATOR, reason="no")

    with pytest.raises(ResultsUnproved):
        publishing.publish(contest.activity.id, by=OPERATOR, reason="over")
    assert rows(publish(contest))[0]["verdict"] == "Accepted"


@pytest.mark.parametrize(
    "ended", ["accepted", "voided", "given up with a result", "given up without", "given up after a verdict", "cancelled"]
)
def test_the_removal_of_old_jobs_alters_nothing_that_was_published(contest, student, box, clock, ended):
    Problem.objects.update(max_deliveries=1)
    sent = UUID(send(student, contest)["id"])
    if ended == "given up after a verdict":
        judge(box)
        queue.rejudge(sent, by=OPERATOR, reason="new tests")
    if ended == "cancelled":
        judge(box)
        queue.cancel(queue.rejudge(sent, by=OPERATOR, reason="new tests"), by=OPERATOR, reason="no")
    elif ended in ("given up without", "given up after a verdict"):
        job, _ = held(box)
        queue.give_back(job, by=OPERATOR, reason="stuck")
        queue.claim(box.id)
    else:
        job, tell = held(box)
        tell(BROKEN if ended == "given up with a result" else RIGHT)
        if ended == "voided":
            queue.void(job, by=OPERATOR, reason="copied")
    before = publish(contest)

    assert pruned(contest, clock) > 0
    assert not Job.objects.exists()
    assert publishing.superseded(before) == ""
    assert rows(publish(contest)) == rows(before)
    assert Publication.objects.count() == 2


def test_publishing_among_reports_and_by_two_at_once_is_whole_and_numbered_once(contest, student, box):
    """Whatever is published meanwhile, everything in it was judged and audited; the loser of two is told."""
    for _ in range(3):
        send(student, contest)
    tells = [held(box)[1] for _ in range(3)]

    def reports():
        for tell in tells:
            tell(RIGHT)

    def publishes():
        audit()
        return publishing.publish(contest.activity.id, by=OPERATOR, reason="over")

    in_threads(reports, publishes, publishes)
    answers = in_threads(publishes, publishes)

    made = list(Publication.objects.order_by("number"))
    assert [one.number for one in made] == list(range(1, len(made) + 1))
    assert any(isinstance(answer, Publication) for answer in answers)
    assert all(isinstance(answer, Publication | ResultsOpen) for answer in answers)
    assert all([row["verdict"] for row in rows(one)] == ["Accepted"] * 3 for one in made)


def test_a_voided_result_that_was_kept_aside_is_not_applied_once_its_job_is_removed(contest, student, box, clock):
    sent = UUID(send(student, contest)["id"])
    judge(box)
    batch = rejudging.begin([sent], by=OPERATOR, wanted=Wanted(reason="new tests", aside=True))
    queue.work_off()
    job, tell = held(box)
    tell(WRONG)
    queue.work_off()
    queue.void(job, by=OPERATOR, reason="the machine was too slow")
    before = publish(contest)
    pruned(contest, clock)

    assert rejudging.apply(batch, by=OPERATOR) == 0
    assert rows(publish(contest)) == rows(before)
