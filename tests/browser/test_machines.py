"""Machines and maintenance in a real browser."""

import re

import pytest

from judging import queue
from judging.models import Installation, Job
from judging.queue import Report
from runners.models import Pool, Runner
from tests.browser.asking import answer, asked, told

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
RUNNERS = "/admin/runners/runner/"
MAINTENANCE = "/admin/judging/installation/"


def test_several_ticked_runners_get_other_pools_at_once(visit, log_in, shoot, scene):
    Pool.objects.get_or_create(name="hall-b")
    page = visit()
    log_in(page, RUNNERS)

    for name in ("judge-1", "judge-2"):
        page.get_by_role("row", name=re.compile(name)).get_by_role("checkbox").check()
    page.get_by_label("Select action to run").select_option("retag_many")
    page.get_by_role("button", name="Run").click()
    told(page, "2 runners; 2 jobs held now, to be finished first.")
    assert page.get_by_text("With the pools of now they may take").is_visible()
    assert page.get_by_label("hall-a", exact=True).is_checked()
    page.get_by_label("hall-b", exact=True).check()
    page.get_by_label("hall-a", exact=True).uncheck()
    shoot(page, "retag-many")
    answer(page, "Change their pools", reason="new signs")

    told(page, re.compile("judge-1.*serves hall-b now."))
    assert [Runner.objects.get(id=box.id).tags for box in scene.boxes] == [["hall-b"], ["hall-b"], ["hall-a"]]


def test_revoking_a_runner_says_which_jobs_go_back_and_asks_for_the_password(visit, log_in, shoot, scene):
    page = visit()
    log_in(page, f"{RUNNERS}{scene.boxes[0].id}/change/")

    dialog = asked(page, "Revoke")
    dialog.get_by_text(f"Goes back to the queue: {scene.held.lane.problem.slug} attempt 1").wait_for()
    shoot(page, "revoke-a-runner")
    answer(dialog, "Revoke this key", reason="stolen", password="wrong horse")
    dialog.get_by_text("This is not your password.").wait_for()
    assert Job.objects.get(id=scene.held.id).state == "running"
    answer(dialog, "Revoke this key", reason="stolen", password="correct horse")

    told(page, "judge-1 was revoked; 1 job went back to the queue.")
    told(page, "stolen")
    assert (Job.objects.get(id=scene.held.id).state, Runner.objects.get(id=scene.boxes[0].id).state) == ("queued", "revoked")


def test_the_installation_is_drained_closed_and_reopened_with_what_still_runs_counted_live(visit, log_in, shoot, scene):
    page = visit()
    log_in(page, MAINTENANCE)
    told(page, "The installation is open")

    dialog = asked(page, "Drain")
    dialog.get_by_text("2 jobs still held by runners.").wait_for()
    answer(dialog, "Start draining", reason="moving the rack")
    told(page, "Draining: nothing more is handed out.")
    told(page, "moving the rack")
    page.evaluate("window.same = true")
    queue.report(scene.held.id, Report(verdict="Accepted", score=100.0), token=scene.held.token, runner=scene.boxes[0].id)
    page.get_by_role("link", name="1 job", exact=True).wait_for()
    assert page.evaluate("window.same")
    shoot(page, "draining")
    answer(asked(page, "Close"), "Close now")
    told(page, "The installation is closed")
    answer(asked(page, "Reopen"), "Reopen", reason="all is well")
    told(page, "The installation is open")

    assert Installation.read().level == "open"
