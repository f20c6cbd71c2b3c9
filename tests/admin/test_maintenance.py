"""Maintenance, lanes and the dashboard: what is switched, what is held back, and whether judging is healthy."""

import pytest
from django.contrib.admin.models import LogEntry
from django.db.models.functions import Now

from judging import queue
from judging.models import Installation, Job, Lane, Maintenance
from runners.models import Runner
from tests import factories
from tests.admin.reading import told, words

pytestmark = pytest.mark.django_db
PAGE = "/admin/judging/installation/"


def switch(client, name, reason="moving the rack"):
    return client.post(f"{PAGE}{name}/", {"reason": reason})


def dashboard(client):
    return words(client.get("/admin/live/"))


@pytest.fixture
def connected():
    """An approved runner that was seen just now."""
    box = factories.box()
    Runner.objects.filter(id=box.id).update(last_seen_at=Now())
    return box


def test_draining_closing_and_reopening(client):
    levels = []
    for name in ("drain", "close", "reopen"):
        switch(client, name)
        levels.append(Installation.read().level)

    assert levels == ["draining", "closed", "open"]


def test_the_reason_is_shown_and_noted_with_who_gave_it(client, admin):
    switch(client, "drain")

    assert "moving the rack" in words(client.get(PAGE))
    assert "moving the rack" in LogEntry.objects.get(user=admin).change_message


def test_only_switches_that_change_something_are_offered(client):
    page = client.get(PAGE).content.decode()

    assert f"{PAGE}drain/" in page
    assert f"{PAGE}reopen/" not in page


def test_the_dialog_says_what_still_runs(client, held):
    assert "1 job still held by runners." in words(client.get(f"{PAGE}drain/"))


def test_external_judging_is_switched(client):
    switch(client, "external-on")
    on = Installation.read().external_judging
    switch(client, "external-off")

    assert on
    assert not Installation.read().external_judging


def test_pausing_a_lane_holds_its_work_back_and_resuming_lets_it_go(client, connected):
    work = factories.work()
    factories.submission(work)
    lane = f"/admin/judging/lane/{work.lane.id}/"

    client.post(f"{lane}pause/", {"reason": "the tests are wrong"})
    paused = queue.claim(connected.id)
    page = words(client.get(f"{lane}change/"))
    client.post(f"{lane}resume/", {"reason": "mended"})

    assert paused is queue.Nothing.WANT_OF_WORK
    assert "the tests are wrong" in page
    assert "Its lane is paused" in page
    assert isinstance(queue.claim(connected.id), queue.ClaimedJob)
    assert Lane.objects.get().paused_at is None


def test_a_quiet_installation_needs_nobody(client, connected):
    queue.sweep()

    assert "Nothing needs you." in dashboard(client)


@pytest.mark.parametrize(
    ("prepare", "words_", "mends"),
    [
        (lambda: factories.submission(factories.work(problem_type="quantum@9")), "No approved runner declares quantum@9.", "runners"),
        (lambda: factories.submission(factories.work(pools=("attic",))), "serves the pool attic.", "runners"),
        (lambda: queue.switch_maintenance(Maintenance.CLOSED, reason="x"), "closed for maintenance", "installation"),
        (factories.pending_box, "1 runner waiting for approval.", "runners"),
    ],
    ids=["no runner of the type", "no runner in the pool", "closed", "pending"],
)
def test_what_needs_a_person_leads_to_the_page_that_mends_it(client, connected, prepare, words_, mends):
    queue.sweep()
    prepare()

    page = client.get("/admin/live/")
    alarm = next(part for part in page.content.decode().split("<a ") if words_ in part)

    assert words_ in dashboard(client)
    assert mends in alarm.split(">")[0]


def test_an_installation_that_nobody_sweeps_says_so(client, clock):
    queue.sweep()
    clock.forward(minutes=3)

    assert "Nothing has swept the queue lately" in dashboard(client)


def test_a_lease_that_is_over_and_a_long_wait_are_told(client, clock):
    box = factories.box()
    factories.submission()
    factories.submission()
    factories.claimed(box)
    clock.forward(minutes=11)

    page = dashboard(client)

    assert "1 lease over and not yet taken back." in page
    assert "Work has been waiting for more than ten minutes." in page


def test_the_numbers_are_those_of_the_queue(client, connected):
    for _ in range(3):
        factories.submission()
    factories.claimed(connected)
    factories.submission(factories.work(problem_type="quantum@9"))

    page = dashboard(client)

    assert "3 may be claimed" in page
    assert "1 being judged" in page
    assert "1 / 1 runners connected" in page
    assert "0 / 1 idle" in page


def test_work_behind_a_running_sibling_is_counted_apart(client, judged):
    box, claimed = judged
    queue.rejudge(claimed.row.submission, by="user:1", reason="a")
    factories.claimed(box)
    queue.rejudge(claimed.row.submission, by="user:1", reason="b")

    page = dashboard(client)

    assert "0 may be claimed" in page
    assert "1 behind a sibling" in page


def test_the_charts_count_the_last_hour(client, judged):
    page = words(client.get("/admin/live/tempo/"))

    assert "1 judged" in page
    assert "0 given up" in page


def test_the_messages_of_a_switch(client):
    switch(client, "drain")

    assert told(client) == ["Draining: nothing more is handed out."]


def test_a_sweep_by_hand_brings_a_lapsed_job_back(client, held, clock):
    clock.forward(seconds=601)

    asked = words(client.get(f"{PAGE}sweep-now/"))
    switch(client, "sweep-now", reason="cron is dead")

    assert "1 lease over and not yet taken back." in asked
    assert Job.objects.get(id=held[1].row.id).state == "queued"
    assert "Swept: 1 returned" in " ".join(told(client))


def test_a_part_that_keeps_itself_fresh_does_not_swallow_what_the_next_page_is_to_say(client):
    done = client.post(f"{PAGE}drain/", {"reason": "moving the rack"}, headers={"HX-Request": "true"})
    assert done.headers["HX-Redirect"]

    part = client.get(PAGE, headers={"HX-Request": "true"})
    page = client.get(PAGE)

    assert list(part.context["messages"]) == []
    assert len(page.context["messages"]) == 1
    assert list(client.get(PAGE).context["messages"]) == []
