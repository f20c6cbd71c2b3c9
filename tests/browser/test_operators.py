"""An operator's flows in a real browser, with their pictures."""

import re

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session

from judging import queue
from judging.models import Job
from judging.queue import Report
from runners.models import Runner, RunnerState
from tests.browser.asking import asked
from tests.browser.conftest import PHONE

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def confirm(page, button):
    """Give the reason that a dialog asks for, and do it."""
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("The jury decided so")
    dialog.get_by_role("button", name=button).click()
    page.wait_for_load_state("networkidle")


def test_logging_in_shows_what_needs_a_person(visit, log_in, shoot, scene):
    page = visit()

    log_in(page)

    assert page.get_by_text("No approved runner declares interactive@1.").first.is_visible()
    assert page.get_by_role("link", name=re.compile("1 runner waiting for approval")).is_visible()
    shoot(page, "dashboard")


def test_the_dashboard_is_live_without_reloading(visit, log_in, scene):
    page = visit()
    log_in(page)
    page.evaluate("window.same = true")

    Runner.objects.filter(id=scene.pending.id).update(state=RunnerState.APPROVED)

    page.get_by_text("1 runner waiting for approval.").wait_for(state="detached")
    assert page.evaluate("window.same")


def test_a_red_line_leads_to_the_page_that_mends_it(visit, log_in, scene):
    page = visit()
    log_in(page)

    page.get_by_role("link", name=re.compile("1 runner waiting for approval")).click()

    page.wait_for_url("**/admin/runners/runner/**")


@pytest.mark.parametrize(("address", "link"), [("/admin/", "waiting for approval"), ("/admin/judging/installation/", "job")])
def test_a_part_that_keeps_itself_fresh_leaves_the_keyboard_where_it_is(visit, log_in, scene, address, link):
    page = visit()
    log_in(page)
    page.goto(address)

    page.locator("[hx-trigger^=every] a", has_text=link).first.focus()
    page.evaluate("window.walked = document.activeElement")

    page.wait_for_function("() => !window.walked.isConnected && document.activeElement.href === window.walked.href")


def test_approving_a_runner(visit, log_in, shoot, scene):
    page = visit()
    log_in(page)
    page.goto(f"/admin/runners/runner/{scene.pending.id}/change/")

    page.get_by_role("link", name="Approve").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("judge-4").wait_for()
    shoot(page, "approve-a-runner")
    dialog.get_by_role("button", name="Approve this key").click()
    dialog.get_by_text("Compare the fingerprints first").wait_for()
    dialog.get_by_label("I have compared").check()
    dialog.get_by_role("button", name="Approve this key").click()

    page.get_by_text("judge-4 may judge now.").wait_for()
    assert Runner.objects.get(id=scene.pending.id).state == RunnerState.APPROVED


def test_closing_a_dialog_does_nothing(visit, log_in, scene):
    page = visit()
    log_in(page)
    page.goto(f"/admin/judging/job/{scene.held.id}/change/")

    page.get_by_role("link", name="Cancel").click()
    page.get_by_role("dialog").get_by_label("Reason").wait_for()
    page.keyboard.press("Escape")

    page.get_by_role("dialog").wait_for(state="hidden")
    assert Job.objects.get(id=scene.held.id).state == "running"


def test_a_dialog_is_reached_by_the_keyboard_alone(visit, log_in, scene):
    page = visit()
    log_in(page)
    page.goto(f"/admin/judging/job/{scene.held.id}/change/")

    page.get_by_role("link", name="Cancel").focus()
    page.keyboard.press("Enter")
    page.wait_for_function("document.activeElement.name === 'reason'")
    page.keyboard.type("by hand")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    page.get_by_text("The job was cancelled.").wait_for()


SETTLED_WHILE_TYPING = """field => new Promise(done => {
  field.focus();
  const target = document.getElementById("dialog");
  target.dispatchEvent(new CustomEvent("htmx:afterSettle", { bubbles: true, detail: { target } }));
  setTimeout(() => done(document.activeElement === field), 70);
})"""


def test_a_dialog_that_is_shown_anew_does_not_take_the_focus_from_who_types_a_password(visit, log_in, scene):
    page = visit()
    log_in(page)
    page.goto(f"/admin/judging/job/{scene.judged.id}/change/")

    dialog = asked(page, "Void the result")
    page.wait_for_function("document.activeElement.name === 'reason'")

    assert dialog.get_by_label("Your password").evaluate(SETTLED_WHILE_TYPING)


def test_cancelling_a_job(visit, log_in, shoot, scene):
    page = visit()
    log_in(page)
    page.goto(f"/admin/judging/job/{scene.held.id}/change/")
    shoot(page, "job-held")

    page.get_by_role("link", name="Cancel").click()
    page.get_by_role("dialog").get_by_text("holds it now").wait_for()
    shoot(page, "cancel-a-job")
    confirm(page, "Cancel the job")

    page.get_by_text("The job was cancelled.").wait_for()
    assert Job.objects.get(id=scene.held.id).state == "cancelled"
    shoot(page, "job-cancelled")


def _cancel_dialog(page, job):
    """The dialog that cancels a job, open, with its reason given."""
    page.goto(f"/admin/judging/job/{job.id}/change/")
    page.get_by_role("link", name="Cancel").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("The jury decided so")
    return dialog


def test_a_dialog_whose_permission_was_taken_meanwhile_says_that_nothing_was_done(visit, log_in, scene):
    page = visit(refused="403")
    log_in(page)
    job = Job.objects.filter(state="queued").earliest("created_at")
    dialog = _cancel_dialog(page, job)
    User.objects.update(is_superuser=False)

    dialog.get_by_role("button", name="Cancel the job").click()

    dialog.get_by_text("The site refused this (403); nothing was done.").wait_for()
    assert Job.objects.get(id=job.id).state == "queued"


def test_a_dialog_whose_session_ended_meanwhile_leads_to_the_login(visit, log_in, scene):
    page = visit()
    log_in(page)
    job = Job.objects.filter(state="queued").earliest("created_at")
    dialog = _cancel_dialog(page, job)
    Session.objects.all().delete()

    dialog.get_by_role("button", name="Cancel the job").click()

    page.wait_for_url("**/admin/login/**")
    assert Job.objects.get(id=job.id).state == "queued"


def test_rejudging_a_submission(visit, log_in, shoot, scene):
    page = visit()
    log_in(page)
    page.goto(f"/admin/judging/submission/{scene.judged.submission_id}/change/")
    shoot(page, "submission")

    page.get_by_role("link", name="Rejudge").click()
    page.get_by_role("dialog").get_by_label(re.compile("Urgent")).check()
    confirm(page, "Rejudge")

    page.get_by_text("A new attempt was opened.").wait_for()
    assert Job.objects.get(submission=scene.judged.submission_id, attempt=2).urgent


def test_rejudging_what_a_filter_finds(visit, log_in, shoot, scene):
    page = visit()
    log_in(page)
    page.goto("/admin/judging/submission/?verdict=Accepted")

    page.get_by_role("link", name="rejudge", exact=True).click()
    page.get_by_text("1 submission chosen.").wait_for()
    shoot(page, "rejudge-a-filter")
    page.get_by_label("Keep the results aside until they are applied").check()
    page.get_by_label("Reason").fill("The tests were wrong")
    page.get_by_role("button", name="Rejudge all of these").click()
    page.get_by_text("1 attempt wanted").wait_for()
    queue.work_off()
    _judge_the_rejudged(scene)
    queue.work_off()
    page.get_by_role("cell", name="Wrong answer").first.wait_for()
    shoot(page, "rejudging-kept-aside")
    page.reload()
    page.get_by_role("link", name="Apply").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("1: Accepted → Wrong answer").wait_for()
    dialog.get_by_label("Your password").fill("correct horse")
    confirm(page, "Apply the results")

    page.get_by_text("The results of 1 submission count now.").wait_for()
    shoot(page, "rejudging-applied")


PRESSED_TWICE = """form => {
  let sent = 0;
  document.addEventListener("submit", (event) => { sent += !event.defaultPrevented; event.preventDefault(); });
  form.requestSubmit();
  form.requestSubmit();
  return sent;
}"""


def test_a_page_that_asks_is_answered_once_however_often_its_button_is_pressed(visit, log_in, scene):
    page = visit()
    log_in(page)
    page.goto("/admin/judging/submission/?verdict=Accepted")
    page.get_by_role("link", name="rejudge", exact=True).click()

    assert page.locator("form.az-dialog").evaluate(PRESSED_TWICE) == 1


def _judge_the_rejudged(scene):
    """Everything that waits in the hall is judged, the rejudged submission last."""
    box = scene.boxes[2]
    while not isinstance(job := queue.claim(box.id), queue.Nothing):
        queue.report(job.row.id, Report(verdict="Wrong answer", score=0.0), token=job.row.token, runner=box.id)


def test_cancelling_what_was_ticked_in_a_list(visit, log_in, shoot, scene):
    page = visit()
    log_in(page)
    page.goto("/admin/judging/job/?state__exact=queued")

    page.get_by_label("Select all objects on this page for an action").check()
    page.get_by_label("Select action to run").select_option("cancel_many")
    page.get_by_role("button", name="Run").click()
    page.get_by_text("They end without a verdict").wait_for()
    shoot(page, "cancel-many")
    page.get_by_label("Reason").fill("The tests were wrong")
    page.get_by_role("button", name="Cancel these jobs").click()
    page.wait_for_url("**/admin/judging/job/**")

    assert not Job.objects.filter(state="queued").exists()


def test_times_are_in_the_reader_s_zone_with_utc_on_hover(visit, log_in, scene):
    page = visit()
    log_in(page)
    page.goto(f"/admin/judging/job/{scene.judged.id}/change/")
    moment = page.locator("time").first

    utc, shown = moment.get_attribute("title"), moment.inner_text()

    assert utc.endswith(" UTC")
    hours = (int(shown.split(":")[0][-2:]) - int(utc.split(" ")[1][:2])) % 24
    assert hours in {1, 2}  # Madrid


def test_a_lease_counts_down(visit, log_in, scene):
    page = visit()
    log_in(page)
    page.goto(f"/admin/judging/job/{scene.held.id}/change/")
    left = page.locator(".az-left").first
    before = left.inner_text()

    page.wait_for_function("before => document.querySelector('.az-left').textContent !== before", arg=before)


def test_a_hostile_source_neither_acts_nor_deceives(visit, log_in, scene):
    page = visit()
    log_in(page)
    page.on("dialog", lambda dialog: pytest.fail("a script ran"))

    page.goto(f"/admin/judging/submission/{scene.judged.submission_id}/change/")

    assert page.get_by_text('"<script>alert(1)</script>"').is_visible()
    assert page.locator("mark", has_text="U+202E").is_visible()


def test_pages_fit_a_phone_and_the_dark(visit, log_in, shoot, scene):
    pages = {
        "dashboard": "/admin/",
        "jobs": "/admin/judging/job/",
        "job": f"/admin/judging/job/{scene.held.id}/change/",
        "submission": f"/admin/judging/submission/{scene.judged.submission_id}/change/",
        "runners": "/admin/runners/runner/",
        "runner": f"/admin/runners/runner/{scene.pending.id}/change/",
        "maintenance": "/admin/judging/installation/",
        "lanes": "/admin/judging/lane/",
    }
    page = visit(PHONE, dark=True)
    log_in(page)

    for name, address in pages.items():
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], name
        shoot(page, f"{name}-phone-dark")
