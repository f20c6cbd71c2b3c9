"""The commands that keep a contest's tables small, and start its rehearsal over."""

import io
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from contests.models import Activity, Round
from contests.retention import prune_activities, reset_rehearsal
from contests.routing import assign
from judging import queue
from judging.errors import LeaseStale, NotFound
from judging.models import Job, Problem, ProblemVersion, Submission
from runners import handshake
from runners.keys import new_id
from runners.models import Nonce
from tests import factories
from tests.factories import Work


@pytest.fixture
def activity(transactional_db) -> Activity:
    return Activity.objects.create(slug="rehearsal", title="Rehearsal")


@pytest.fixture
def lane(activity) -> Work:
    """An assignment's lane in the activity, as the factories take work."""
    problem = Problem.objects.create(slug="a", title="A")
    version = ProblemVersion.objects.create(problem=problem, number=1)
    return Work(problem, version, assign(Round.objects.create(activity=activity, title="One"), problem, slug="A").lane)


def test_the_rows_of_an_activity_that_ended_long_ago_leave(activity, lane, clock):
    queue.cancel(factories.submission(lane).job, by="user:1", reason="no")
    Activity.objects.update(closes_at=clock.now())
    clock.forward(days=29)
    assert prune_activities() == 0
    clock.forward(days=2)

    assert prune_activities() == 1


def test_an_activity_without_an_end_keeps_its_rows(lane, clock):
    queue.cancel(factories.submission(lane).job, by="user:1", reason="no")
    clock.forward(days=4000)

    assert prune_activities() == 0


def test_no_ticket_lives_under_25_hours(activity, lane, clock):
    queue.cancel(factories.submission(lane).job, by="user:1", reason="no")
    Activity.objects.update(closes_at=clock.now())
    clock.forward(hours=24)

    assert prune_activities(keep=timedelta(0)) == 0
    clock.forward(hours=2)
    assert prune_activities(keep=timedelta(0)) == 1


def test_prune_says_what_it_removed(transactional_db, clock, capsys):
    box = factories.box()
    handshake.challenge(box.fingerprint)
    clock.forward(seconds=121)
    call_command("prune")

    assert not Nonce.objects.exists()
    assert capsys.readouterr().out == "0 jobs, 1 expired secrets and 0 unattached files removed\n"


def test_a_reset_rehearsal_starts_clean_and_fences_off_who_still_judges(activity, lane):
    box = factories.box()
    factories.submission(lane)
    job = factories.claimed(box)
    waiting = factories.submission(lane)

    assert reset_rehearsal(activity.id, by="user:1", reason="over again") == 2
    assert reset_rehearsal(activity.id, by="user:1", reason="over again") == 0
    assert Job.objects.get(id=waiting.job).state == "cancelled"
    with pytest.raises(LeaseStale):
        queue.report(job.row.id, queue.Report(verdict="Accepted"), token=job.row.token, runner=box.id)
    assert not Submission.objects.filter(deleted_at=None).exists()


def test_a_rehearsal_nobody_knows_is_not_found(transactional_db):
    with pytest.raises(NotFound):
        reset_rehearsal(new_id(), by="user:1", reason="over again")


def test_a_rehearsal_is_not_reset_where_nobody_can_be_asked(activity, lane, monkeypatch):
    factories.submission(lane)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))

    with pytest.raises(CommandError, match="Nothing was changed"):
        call_command("reset_rehearsal", "rehearsal")

    assert Submission.objects.filter(deleted_at=None).exists()
