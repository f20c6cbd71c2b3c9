"""A contest from its first form to its final results, in a real browser."""

import json
from pathlib import Path

import pytest

from contests.models import Activity, Assignment, Participant, Publication, Round
from judging import queue
from judging.audit import audit
from judging.models import Job
from judging.queue import Report
from runners.models import Runner
from tests import factories
from tests.browser.asking import answer, asked, look_up, told
from tests.browser.scene import WAITING_TYPE

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
FAULTY = "login,name,password\nada,Ada,analytical-engine\n,Nobody\noperator,Root\nbad name!,Bad\nshort,Short,123\ntwice,One\ntwice,Two\n"
FAULTS = ("no login name", "an operator's account", "Enter a valid username", "too short", "more than once")
TEAMS = "login,name,password\nteam-1,Blue Team,analytical-engine\nteam-2,Red Team,difference-engine\n"


def page_of(activity):
    return f"/admin/contests/activity/{activity.id}/change/"


def csv(text):
    return {"name": "teams.csv", "mimeType": "text/csv", "buffer": text.encode()}


@pytest.fixture
def finals(transactional_db):
    """An activity without anybody in it."""
    return Activity.objects.create(slug="finals", title="Finals")


def test_an_activity_with_a_round_and_an_assignment_is_set_up(visit, log_in, shoot):
    factories.work(slug="sum-2026")
    page = visit()
    log_in(page, "/admin/contests/activity/add/")

    page.get_by_label("Title").first.fill("Finals 2026")
    page.locator("#id_slug").fill("finals-2026")
    page.locator("#id_pools").fill("hall-a")
    page.get_by_role("link", name="Add another Round").click()
    page.locator("#id_rounds-0-title").fill("Main round")
    shoot(page, "add-an-activity")
    page.get_by_role("button", name="Save", exact=True).click()
    told(page, "was added successfully")

    page.goto("/admin/contests/assignment/add/")
    look_up(page, "round", "Main round")
    look_up(page, "problem", "sum-2026")
    page.locator("#id_slug").fill("A")
    page.get_by_label("Configuration").fill('{"limits": {"timeMs": 1000}}')
    shoot(page, "add-an-assignment")
    page.get_by_role("button", name="Save", exact=True).click()
    told(page, "was added successfully")

    made = Assignment.objects.get(slug="A")
    assert (made.round, made.round.activity.slug) == (Round.objects.get(title="Main round"), "finals-2026")
    assert (made.lane.pools, json.loads(made.lane.config)) == (["hall-a"], {"limits": {"timeMs": 1000}})


def test_a_table_with_faults_shows_them_all_and_takes_nobody_in(visit, log_in, shoot, finals):
    page = visit()
    log_in(page, page_of(finals))
    dialog = asked(page, "Add participants")

    dialog.locator("input[type=file]").set_input_files(csv(FAULTY))
    answer(dialog, "Go on", reason="registration closed")

    dialog.get_by_text("6 of 7 lines cannot be taken in. Nothing was kept.").wait_for()
    for fault in FAULTS:
        assert dialog.get_by_text(fault).first.is_visible(), fault
    assert not Participant.objects.exists()
    shoot(page, "participants-with-faults")


def test_a_table_is_mended_in_its_dialog_seen_and_taken_in(visit, log_in, shoot, finals):
    page = visit()
    log_in(page, page_of(finals))
    dialog = asked(page, "Add participants")
    dialog.locator("input[type=file]").set_input_files(csv(FAULTY))
    answer(dialog, "Go on", reason="registration closed")
    dialog.get_by_text("Nothing was kept.").wait_for()

    dialog.get_by_label("Table").fill(TEAMS)
    dialog.get_by_role("button", name="Go on").click()
    dialog.get_by_text("Look at the lines above").wait_for()
    shoot(page, "participants-to-be-seen")
    dialog.get_by_label("I have seen every line").check()
    dialog.get_by_role("button", name="Go on").click()

    told(page, "2 participants joined Finals.")
    assert set(Participant.objects.values_list("user__username", "name")) == {("team-1", "Blue Team"), ("team-2", "Red Team")}


def test_a_room_is_reserved_for_one_activity_and_given_back(visit, log_in, shoot, scene):
    page = visit()
    log_in(page, page_of(scene.activity))

    dialog = asked(page, "Reserve a room")
    dialog.get_by_label("Name of the room").fill("aula")
    dialog.get_by_label("judge-1: hall-a").check()
    dialog.get_by_label("judge-2: hall-a").check()
    shoot(page, "reserve-a-room")
    answer(dialog, "Reserve it")
    dialog.get_by_text(f"No runner would be left for {WAITING_TYPE} in aula.").wait_for()
    dialog.get_by_label("Do it even if").check()
    dialog.get_by_role("button", name="Reserve it").click()
    told(page, "2 machines judge only Finals 2026 now, as aula.")
    reserved = tags(scene)

    dialog = asked(page, "Give the room back")
    dialog.get_by_text("judge-1: hall-a").wait_for()
    answer(dialog, "Give it back")
    told(page, "aula is no more; its machines are back in their pools.")

    assert reserved == [["aula"], ["aula"], ["hall-a"]]
    assert tags(scene) == [["hall-a"]] * 3


def tags(scene):
    return [Runner.objects.get(id=box.id).tags for box in scene.boxes]


def judge_everything(scene):
    """What is held and what waits, each with a verdict."""
    said = Report(verdict="Accepted", score=100.0)
    for box in (*scene.boxes, factories.box(problem_types=(WAITING_TYPE,), tags=("hall-a",))):
        for held in Job.objects.filter(state="running", runner=box.id):
            queue.report(held.id, said, token=held.token, runner=box.id)
        while isinstance(job := queue.claim(box.id), queue.ClaimedJob):
            queue.report(job.row.id, said, token=job.row.token, runner=box.id)


def publish(page):
    answer(asked(page, "Publish final results"), "Publish them", reason="the contest is over")


def test_results_are_published_once_nothing_is_open_and_an_audit_proved_them(visit, log_in, shoot, scene):
    page = visit()
    log_in(page, page_of(scene.activity))

    publish(page)
    told(page, "still to be judged")
    judge_everything(scene)
    publish(page)
    told(page, "no audit has seen the last judgement")
    assert not Publication.objects.exists()
    shoot(page, "results-not-proved")
    audit()
    publish(page)
    told(page, "are published as number 1")
    page.get_by_role("link", name="number 1").click()
    told(page, "the contest is over")
    shoot(page, "results-published")

    made = Publication.objects.get()
    assert saved(page, 0) == made.document
    assert saved(page, 1) == made.anchor


def saved(page, place):
    """The content of a file that the page offers."""
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").nth(place).click()
    return Path(download.value.path()).read_text(encoding="utf-8")
