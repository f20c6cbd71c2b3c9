"""Machines that stand out are named on the dashboard, and so is work that a switch keeps waiting."""

import pytest

from judging import queue
from judging.trouble import lately
from tests import factories
from tests.admin.reading import words

pytestmark = pytest.mark.django_db


def fail(box, claimed):
    failure = queue.Report(infrastructure_failure=True, failure_reason="no disk")
    queue.report(claimed.row.id, failure, token=claimed.row.token, runner=box.id)


def end(box, *, failed):
    factories.submission(factories.work(cap=100))
    claimed = factories.claimed(box)
    said = queue.Report(infrastructure_failure=True, failure_reason="no disk") if failed else queue.Report(verdict="Accepted")
    queue.report(claimed.row.id, said, token=claimed.row.token, runner=box.id)
    if failed:
        queue.cancel(claimed.row.id, by="user:1", reason="make room")


@pytest.fixture
def dusty(db):
    """A machine that fails, beside one that does not."""
    dusty, clean = factories.box(name="dusty"), factories.box(name="clean")
    for _ in range(10):
        end(dusty, failed=True)
        end(clean, failed=False)
    return dusty


def test_a_machine_that_stands_out_is_named_with_the_way_to_it(client, dusty):
    page = client.get("/admin/live/")
    listed = words(client.get(f"/admin/runners/runner/?q={dusty.fingerprint[:16]}"))

    assert "dusty brought no verdict for 10 of its last 10 jobs" in words(page)
    assert f"/admin/runners/runner/?q={dusty.fingerprint[:16]}" in page.content.decode()
    assert "Within an hour 10 hand-outs came back without a verdict, 0 jobs were given up." in words(page)
    assert "dusty" in listed
    assert "clean" not in listed


def test_jobs_that_nobody_can_judge_do_not_blame_the_machine_they_come_back_to(client, db):
    alone, other = factories.box(name="alone", tags=("room",)), factories.box(name="other")
    factories.submission(factories.work(pools=("room",), cap=12))
    for _ in range(12):
        fail(alone, factories.claimed(alone))
    for _ in range(10):
        end(other, failed=False)

    page = words(client.get("/admin/live/"))

    assert "alone brought no verdict" not in page
    assert "Within an hour 12 hand-outs came back without a verdict, 1 job was given up." in page


def test_a_machine_that_is_out_of_the_fleet_is_named_no_more(client, dusty):
    queue.revoke(dusty.id, by="user:1", reason="dust")

    assert "dusty brought" not in words(client.get("/admin/live/"))
    assert [each.name for each in lately()] == ["clean"]


def test_what_was_long_ago_is_not_counted(client, dusty, clock):
    clock.forward(seconds=7200)

    assert lately() == []


def test_work_for_outside_judges_behind_the_switch_is_red(client):
    factories.box(external=True)
    factories.submission(factories.work(external=True))

    page = client.get("/admin/live/").content.decode()

    assert "external judging is switched off" in page
    assert "az-red" in page
