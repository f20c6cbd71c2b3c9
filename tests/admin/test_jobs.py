"""What operators see of jobs, and do to them."""

import html
from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.urls import reverse
from django.utils import timezone

from judging import queue
from judging.models import Job, LedgerRecord
from tests import factories
from tests.admin.reading import told, words

pytestmark = pytest.mark.django_db
JOBS = "/admin/judging/job/"


def act(client, job, name, **said):
    return client.post(f"{JOBS}{job}/{name}/", {"reason": "the jury said so"} | said)


def page_of(client, job):
    return words(client.get(reverse("admin:judging_job_change", args=[job])))


def test_cancelling_ends_the_job_and_the_ledger_says_who_and_why(client, admin):
    job = factories.submission().job

    act(client, job, "cancel")

    record = LedgerRecord.objects.get(job=job, type="cancelled")
    assert Job.objects.get(id=job).state == "cancelled"
    assert (record.actor, record.data["reason"]) == (f"user:{admin.id}", "the jury said so")
    assert told(client) == ["The job was cancelled."]


def test_a_refusal_is_a_message_with_its_code(client):
    job = factories.submission().job
    act(client, job, "cancel")
    told(client)

    answer = act(client, job, "cancel")

    assert answer.status_code == 302
    assert told(client) == ["This job is cancelled already; a finished job never changes. (job.state)"]


def test_returning_to_the_queue_fences_the_holder(client, held):
    claimed = held[1]

    act(client, claimed.row.id, "give-back")

    job = Job.objects.get(id=claimed.row.id)
    assert (job.state, job.token, job.deliveries) == ("queued", None, 1)


def test_voiding_takes_the_result_out_of_the_count(client, judged):
    job = judged[1].row.id

    act(client, job, "void", password="secret")

    assert Job.objects.get(id=job).voided_at is not None
    assert "result voided" in page_of(client, job)


def test_voiding_asks_for_the_password_again(client, judged):
    job = judged[1].row.id

    wrong = act(client, job, "void", password="guess")
    act(client, job, "void")

    assert "This is not your password." in words(wrong)
    assert Job.objects.get(id=job).voided_at is None


def test_a_password_given_lately_is_not_asked_for_again(client, judged):
    box, claimed = judged
    act(client, claimed.row.id, "void", password="secret")
    factories.submission()
    other = factories.claimed(box)
    queue.report(other.row.id, queue.Report(verdict="Accepted"), token=other.row.token, runner=box.id)

    act(client, other.row.id, "void")

    assert Job.objects.get(id=other.row.id).voided_at is not None


def test_an_old_password_is_asked_for_again(client, judged):
    session = client.session
    session["sworn_at"] = (timezone.now() - timedelta(minutes=10, seconds=1)).isoformat()
    session.save()

    act(client, judged[1].row.id, "void")

    assert Job.objects.get().voided_at is None


def test_rejudging_opens_the_next_attempt(client, judged):
    first = judged[1].row

    act(client, first.id, "rejudge", mode="ordinary")

    newest = Job.objects.get(submission=first.submission, attempt=2)
    assert (newest.state, newest.urgent) == ("queued", False)


def test_an_urgent_rejudge_goes_first(client, judged):
    act(client, judged[1].row.id, "rejudge", mode="urgent")

    assert Job.objects.get(attempt=2).urgent


def test_a_rejudge_asks_how_soon(client, judged):
    act(client, judged[1].row.id, "rejudge", mode="at once!")

    assert not Job.objects.filter(attempt=2).exists()


def test_changing_the_priority(client):
    job = factories.submission().job

    act(client, job, "prioritise", priority="0")

    assert Job.objects.get(id=job).priority == 0


def test_only_acts_that_fit_the_state_are_offered(client, judged):
    waiting = factories.submission().job

    offered = {job: client.get(reverse("admin:judging_job_change", args=[job])).content.decode() for job in (waiting, judged[1].row.id)}

    assert f"{waiting}/cancel/" in offered[waiting]
    assert f"{waiting}/void/" not in offered[waiting]
    assert f"{judged[1].row.id}/void/" in offered[judged[1].row.id]
    assert f"{judged[1].row.id}/cancel/" not in offered[judged[1].row.id]


def test_many_jobs_are_cancelled_by_one_form_and_those_that_refuse_say_so(client, judged):
    waiting, finished = factories.submission().job, judged[1].row.id
    chosen = {"action": "cancel_many", "_selected_action": [waiting, finished]}

    asked = client.post(JOBS, chosen)
    client.post(JOBS, chosen | {"confirmed": "1", "reason": "wrong tests"})

    assert "They end without a verdict" in words(asked)
    assert Job.objects.get(id=waiting).state == "cancelled"
    assert Job.objects.get(id=finished).state == "completed"
    assert any("job.state" in each for each in told(client))


def test_asking_about_many_does_nothing_yet(client):
    job = factories.submission().job

    client.post(JOBS, {"action": "cancel_many", "_selected_action": [job]})

    assert Job.objects.get(id=job).state == "queued"


def test_every_act_is_noted_among_the_operators_deeds(client, admin):
    job = factories.submission().job

    act(client, job, "cancel")

    entry = LogEntry.objects.get(user=admin)
    assert "the jury said so" in entry.change_message


def test_a_job_is_found_by_its_id_and_by_how_it_begins(client):
    job = factories.submission().job
    factories.submission()

    for term in (str(job), str(job).upper(), str(job).replace("-", "")):
        page = words(client.get(JOBS, {"q": term}))
        assert str(job)[-12:] in page
        assert page.count("attempt 1") == 1


def test_a_job_is_found_by_its_submission(client):
    receipt = factories.submission()

    assert str(receipt.job)[-12:] in words(client.get(JOBS, {"q": str(receipt.submission)}))


@pytest.mark.parametrize("term", ["zzz", "%", "' OR 1=1 --", "0" * 200, "abc"])
def test_a_search_for_no_id_finds_nothing(client, term):
    factories.submission()

    assert "Nothing fits" in words(client.get(JOBS, {"q": term}))


@pytest.mark.parametrize("query", ["state__exact=running", "state__exact=queued&state__exact=running", "priority__exact=1"])
def test_jobs_are_filtered(client, held, query):
    assert "attempt 1" in words(client.get(f"{JOBS}?{query}"))


def test_jobs_are_filtered_by_whoever_had_them(client, judged):
    box, claimed = judged
    other = factories.submission().job

    page = words(client.get(f"{JOBS}?runner__id__exact={box.id}"))

    assert str(claimed.row.id)[-12:] in page
    assert str(other)[-12:] not in page


def test_a_waiting_job_says_why(client):
    job = factories.submission(factories.work(problem_type="quantum@9")).job

    assert "No approved runner declares quantum@9." in page_of(client, job)
    assert "no runner of this type" in words(client.get(JOBS))


def test_a_held_job_shows_its_holder_and_what_is_left_of_its_lease(client, held):
    box, claimed = held

    page = client.get(reverse("admin:judging_job_change", args=[claimed.row.id])).content.decode()

    assert box.runner.name in page
    assert 'data-left="59' in page


def test_the_story_tells_who_held_it_until_when_and_why_it_came_back(client, clock):
    box = factories.box()
    job = factories.submission().job
    claimed = factories.claimed(box)
    clock.forward(seconds=601)
    queue.sweep()

    page = page_of(client, claimed.row.id)

    assert job == claimed.row.id
    assert "Handed out for 600 s (hand-out 1 of 5). Until" in page
    assert "The lease ran out. The runner was never heard of. Back in the queue; the delivery was given back." in page
    assert box.runner.name in page
    assert "the reaper" in page


def test_the_history_of_a_forgotten_runner_is_still_told(client, judged):
    box, claimed = judged
    queue.revoke(box.id, by="user:1", reason="sold")
    queue.forget(box.id)

    assert "forgotten" in page_of(client, claimed.row.id)
    assert client.get(JOBS).status_code == 200


def test_a_job_that_was_given_up_shows_the_reason(client):
    box = factories.box()
    factories.submission(factories.work(cap=1))
    claimed = factories.claimed(box)
    failure = queue.Report(infrastructure_failure=True, failure_reason="disk full")
    queue.report(claimed.row.id, failure, token=claimed.row.token, runner=box.id)

    assert "Given up after 1 deliveries: infrastructure failure: disk full" in page_of(client, claimed.row.id)


NO_LANGUAGE = "the job's props name no language"


def fail_at(box, reason, *, times=1):
    for _ in range(times):
        claimed = factories.claimed(box)
        report = queue.Report(infrastructure_failure=True, failure_reason=reason)
        queue.report(claimed.row.id, report, token=claimed.row.token, runner=box.id)


def test_what_every_machine_says_of_a_job_is_the_job_s_own_fault(client):
    job = factories.submission(factories.work(cap=4)).job
    boxes = [factories.box(name="one"), factories.box(name="two")]
    for box in boxes * 2:
        fail_at(box, NO_LANGUAGE)

    page, listed = page_of(client, job), words(client.get(f"{JOBS}?state__exact=failed"))

    assert "Why was it given up? 4 of 4 hand-outs count" in page
    assert f"one: {NO_LANGUAGE}" in page
    assert "2 machines gave the same reason, so that it lies with the job" in page
    assert "it has to be sent in again" in page
    assert f"failed {NO_LANGUAGE}" in listed


def test_what_one_machine_says_of_a_job_is_that_machine_s(client):
    job = factories.submission(factories.work(cap=2)).job
    fail_at(factories.box(name="dusty"), "no space left on device", times=2)

    assert "Every time it was with dusty: look at that machine" in page_of(client, job)


def test_a_job_that_came_back_says_why_while_it_waits(client):
    job = factories.submission(factories.work(cap=5)).job
    fail_at(factories.box(name="dusty"), "no space left on device")

    page, listed = page_of(client, job), words(client.get(JOBS))

    assert "Why did it come back? 1 of 5 hand-outs count dusty: no space left on device" in page
    assert "came back 1 of 5 times, last: no space left on device" in listed


def test_a_reason_is_never_markup(client):
    job = factories.submission(factories.work(cap=1)).job
    fail_at(factories.box(), "<script>alert(1)</script>")

    for answer in (client.get(reverse("admin:judging_job_change", args=[job])), client.get(JOBS)):
        assert "<script>alert(1)" not in answer.content.decode()
        assert "<script>alert(1)</script>" in words_of_text(answer)


def words_of_text(answer):
    """Entities resolved, tags left: what a browser shows of text that looks like a tag."""
    return html.unescape(answer.content.decode())


def test_a_job_that_nobody_touched_says_nothing_of_failures(client):
    assert "Why did it come back?" not in page_of(client, factories.submission().job)
