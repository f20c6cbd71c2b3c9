"""Rejudging many: by what was ticked or by the filter, with a preview, progress, a matrix, and results kept aside."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from judging import queue
from judging.models import Job, Rejudging
from judging.queue import Report
from tests import factories
from tests.admin.reading import told, words

pytestmark = pytest.mark.django_db
LISTED = "/admin/judging/submission/rejudge-listed/"
SUBMISSIONS = "/admin/judging/submission/"
SAID = {"reason": "the tests were wrong", "mode": "ordinary", "repeats": "1"}


@pytest.fixture
def box(db):
    return factories.box()


def judge(box, verdict="Accepted", score=1.0):
    job = factories.claimed(box)
    queue.report(job.row.id, Report(verdict=verdict, score=score), token=job.row.token, runner=box.id)
    return job.row.submission


def judged(box, *verdicts):
    made = []
    for verdict in verdicts:
        factories.submission()
        made.append(judge(box, verdict))
    return made


def begin(client, query="", **said):
    address = f"{LISTED}?{query}"
    seen = client.get(address).context["seen"]
    return client.post(address, SAID | {"counted": seen} | said)


def page_of(client, batch):
    return client.get(reverse("admin:judging_rejudging_change", args=[batch.id]))


def test_the_preview_counts_and_changes_nothing(client, box):
    judged(box, "Accepted", "Wrong answer")
    factories.submission()

    page = words(client.get(LISTED))

    assert "3 submissions chosen." in page
    assert "1 skipped: an attempt waits already." in page
    assert not Rejudging.objects.exists()


def test_the_filter_decides_what_is_rejudged(client, box):
    accepted, wrong = judged(box, "Accepted", "Wrong answer")

    answer = begin(client, "verdict=Accepted")
    queue.work_off()

    batch = Rejudging.objects.get()
    assert answer.headers["Location"] == reverse("admin:judging_rejudging_change", args=[batch.id])
    assert (batch.chosen, batch.reason, batch.by[:5]) == ("verdict = Accepted", "the tests were wrong", "user:")
    assert list(Job.objects.filter(attempt=2).values_list("submission", flat=True)) == [accepted]
    assert wrong != accepted


def test_a_filter_that_finds_others_by_now_asks_again(client, box):
    judged(box, "Accepted")
    seen = client.get(LISTED).context["seen"]
    judged(box, "Accepted")

    answer = client.post(LISTED, SAID | {"counted": seen})

    assert "look again" in words(answer)
    assert not Rejudging.objects.exists()


@pytest.mark.parametrize("query", ["verdict=nothing", "unknown=1", "state=%00", "lane__problem__id__exact=zzz"])
def test_a_filter_that_finds_nothing_or_is_not_understood_begins_nothing(client, box, query):
    judged(box, "Accepted")

    answer = begin(client, query)

    assert "There is nothing to judge again" in words(answer)
    assert not Rejudging.objects.exists()


def test_an_urgent_one_goes_before_everything(client, box):
    judged(box, "Accepted")

    begin(client, mode="urgent")
    queue.work_off()

    assert Job.objects.get(attempt=2).urgent


def test_a_class_is_chosen_in_the_dialog(client, box):
    judged(box, "Accepted")

    begin(client, priority="1")
    queue.work_off()

    batch = Rejudging.objects.get()
    assert Job.objects.get(attempt=2).priority == 1
    assert "Class contest" in words(page_of(client, batch))


def test_one_submission_is_rejudged_in_the_class_that_was_chosen(client, box):
    (submission,) = judged(box, "Accepted")

    client.post(f"/admin/judging/submission/{submission}/rejudge/", SAID | {"priority": "2"})

    assert Job.objects.get(attempt=2).priority == 2


@pytest.mark.parametrize(
    "bad", [{"reason": ""}, {"repeats": "0"}, {"repeats": "1000"}, {"mode": "now"}, {"priority": "0"}, {"priority": "x"}]
)
def test_what_is_not_said_properly_is_asked_again(client, box, bad):
    judged(box, "Accepted")

    assert begin(client, **bad).status_code == 200
    assert not Rejudging.objects.exists()


def test_progress_matrix_and_scores_are_shown(client, box):
    first, _ = judged(box, "Accepted", "Wrong answer")
    begin(client, aside="on")
    batch = Rejudging.objects.get()
    assert "2 attempts wanted" in words(page_of(client, batch))
    queue.work_off()
    judge(box, "<i>Partial</i>", 0.5)

    page = page_of(client, batch)

    assert "results aside" in words(page)
    assert "<i>Partial</i>" in words(page)
    assert "<i>Partial</i>" not in page.content.decode()
    assert "not judged yet" in words(page)
    assert str(first)[-12:] in words(page)


def test_results_kept_aside_are_applied_with_the_password(client, box):
    [submission] = judged(box, "Wrong answer")
    begin(client, aside="on")
    queue.work_off()
    queue.work_off()
    judge(box, "Accepted")
    batch = Rejudging.objects.get()
    apply = f"/admin/judging/rejudging/{batch.id}/apply/"

    before = words(client.get(f"{SUBMISSIONS}?verdict=Accepted"))
    asked = words(client.get(apply))
    refused = client.post(apply, {"reason": "right", "password": "wrong"})
    client.post(apply, {"reason": "right", "password": "secret"})
    said = told(client)
    after = words(client.get(f"{SUBMISSIONS}?verdict=Accepted"))

    assert "1: Wrong answer → Accepted" in asked
    assert "This is not your password" in words(refused)
    assert said == ["The results of 1 submission count now."]
    assert (str(submission)[-12:] in before, str(submission)[-12:] in after) == (False, True)


def test_cancelling_in_the_page_ends_what_waits(client, box):
    judged(box, "Accepted")
    begin(client, aside="on")
    queue.work_off()
    batch = Rejudging.objects.get()

    client.post(f"/admin/judging/rejudging/{batch.id}/cancel/", {"reason": "mistaken"})
    queue.sweep()

    assert told(client) == ["The rejudging was cancelled; what it opened is being ended."]
    assert Job.objects.get(attempt=2).state == "cancelled"


def test_an_attempt_kept_aside_is_marked_on_its_submission_s_page(client, box):
    [submission] = judged(box, "Accepted")
    begin(client, aside="on")
    queue.work_off()

    assert "kept aside" in words(client.get(reverse("admin:judging_submission_change", args=[submission])))


@pytest.mark.parametrize("method", ["get", "post"])
def test_who_may_not_rejudge_begins_nothing(staff, box, method):
    judged(box, "Accepted")
    observer = staff("judging.view_submission", "judging.view_rejudging")

    answer = getattr(observer, method)(LISTED, SAID | {"counted": "1"})

    assert answer.status_code == 403
    assert not Rejudging.objects.exists()


def test_who_may_not_apply_applies_nothing(staff, client, box):
    judged(box, "Accepted")
    begin(client, aside="on")
    judge_only = staff("judging.view_rejudging", "judging.rejudge_submission")

    assert judge_only.post(f"/admin/judging/rejudging/{Rejudging.objects.get().id}/apply/", {"reason": "x"}).status_code == 403


def test_a_rejudging_s_page_asks_no_more_of_many_than_of_few(client, box):
    judged(box, "Accepted")
    begin(client)
    queue.work_off()
    judge(box, "Wrong answer")
    queue.work_off()
    with CaptureQueriesContext(connection) as few:
        page_of(client, Rejudging.objects.get())
    judged(box, *["Accepted"] * 6)
    begin(client)
    queue.work_off()
    for _ in range(7):
        judge(box, "Partial", 0.5)

    with CaptureQueriesContext(connection) as many:
        page_of(client, Rejudging.objects.first())

    assert len(many) <= len(few)


def test_submissions_of_a_participant_are_found_by_name(client, box):
    from tests.browser import scene

    activity, assignments = scene._contest()
    scene._send(scene._participant(activity, "Ada"), assignments[0])
    scene._send(scene._participant(activity, "Grace"), assignments[0])

    page = words(client.get(f"{SUBMISSIONS}?participant=ada"))

    assert "Ada" in page
    assert "Grace" not in page


def test_what_given_up_jobs_were_attempts_at_is_rejudged_from_their_list(client, box):
    given_up = [factories.submission(factories.work(cap=1)) for _ in range(2)]
    for _ in given_up:
        claimed = factories.claimed(box)
        report = Report(infrastructure_failure=True, failure_reason="no disk")
        queue.report(claimed.row.id, report, token=claimed.row.token, runner=box.id)
    ticked = {"action": "rejudge_many", "_selected_action": [receipt.job for receipt in given_up]}

    asked = words(client.post("/admin/judging/job/", ticked))
    client.post("/admin/judging/job/", ticked | SAID | {"confirmed": "1"})
    queue.work_off()

    assert "2 submissions chosen." in asked
    assert set(Job.objects.filter(attempt=2).values_list("submission", flat=True)) == {receipt.submission for receipt in given_up}
