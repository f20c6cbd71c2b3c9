"""Every page: opens when there is nothing, answers any question, and asks the database few of its own."""

import contextlib
from typing import Any

import pytest
from django.contrib import admin as django_admin
from django.contrib.admin.exceptions import DisallowedModelAdminLookup
from django.contrib.admin.options import IncorrectLookupParameters
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from contests import routing
from contests.models import Activity, Round
from judging import queue
from tests import factories
from tests.admin.reading import words

pytestmark = pytest.mark.django_db

PAGES: dict[str, tuple[Any, str]] = {
    model._meta.label: (page, reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist"))
    for model, page in django_admin.site._registry.items()
}
GARBAGE = ["", "\x00", "zzz", "-1", "9" * 40, "2026-13-45"]


def lists():
    return pytest.mark.parametrize("label", PAGES)


def queries_of(client, address):
    with CaptureQueriesContext(connection) as asked:
        assert client.get(address).status_code == 200
    return [query["sql"] for query in asked.captured_queries]


@lists()
def test_an_empty_list_says_what_to_do_next(client, label):
    page, address = PAGES[label]

    answer = client.get(address)

    assert answer.status_code == 200
    if label not in {"auth.User", "auth.Group", "judging.Installation"}:
        assert "Nothing here yet" in words(answer)
        assert page.when_empty
        assert page.when_empty in words(answer)


@lists()
def test_rows_have_an_order_in_lists_and_in_autocompletes(label, rf, admin):
    page, address = PAGES[label]
    request = rf.get(address)
    request.user = admin

    assert page.get_queryset(request).ordered


def look(page, request):
    """A list as a request asks for it, without its template."""
    if page.unreadable(request):
        return
    with contextlib.suppress(IncorrectLookupParameters, DisallowedModelAdminLookup):
        list(page.get_changelist_instance(request).result_list)


@lists()
def test_no_filter_fails_on_garbage(label, rf, admin):
    page, address = PAGES[label]
    request = rf.get(address)
    request.user = admin
    filters = page.get_changelist_instance(request).get_filters(request)[0]
    names = {name for each in filters for name in each.expected_parameters() if name} | {"q", "p", "o", "unknown"}

    for name in names:
        for value in GARBAGE:
            asked = rf.get(address, {name: value})
            asked.user = admin
            try:
                look(page, asked)
            except Exception as error:
                pytest.fail(f"{name}={value!r}: {error!r}")


def test_a_question_that_the_database_cannot_hold_is_asked_without_it(client):
    answer = client.get("/admin/judging/job/", {"state__exact": "queued\x00"})

    assert answer.status_code == 302


def work_in_every_state(count):
    box = factories.box()
    for _ in range(count):
        factories.submission()
        claimed = factories.claimed(box)
        queue.report(claimed.row.id, queue.Report(verdict="Accepted"), token=claimed.row.token, runner=box.id)
        factories.submission()
        factories.claimed(box)
    for _ in range(count):
        factories.submission(factories.work())
        factories.pending_box(tags=("hall-a",))


@pytest.mark.parametrize(
    "label",
    ["judging.Job", "judging.Submission", "judging.Delivery", "judging.LedgerRecord", "judging.Lane", "runners.Runner"],
)
def test_a_list_asks_no_more_of_many_rows_than_of_few(client, label):
    _, address = PAGES[label]
    work_in_every_state(1)
    few = len(queries_of(client, address))
    work_in_every_state(5)

    many = queries_of(client, address)

    assert len(many) == few
    assert len(many) <= 12


@pytest.mark.parametrize("label", ["judging.Job", "judging.Submission", "judging.Delivery", "judging.LedgerRecord"])
def test_a_list_of_a_large_table_is_never_counted(client, label):
    _, address = PAGES[label]
    table = label.lower().replace(".", "_")
    work_in_every_state(1)

    counted = [sql for sql in queries_of(client, address) if "COUNT(" in sql.upper() and f'FROM "{table}"' in sql]

    assert counted == []


@pytest.mark.parametrize("address", ["/admin/", "/admin/live/", "/admin/live/tempo/"])
def test_the_dashboard_asks_no_more_of_a_long_queue_than_of_a_short_one(client, address):
    work_in_every_state(1)
    few = len(queries_of(client, address))
    work_in_every_state(5)

    assert len(queries_of(client, address)) <= few
    assert few <= 14


def test_a_job_s_page_asks_no_more_of_a_long_history_than_of_a_short_one(client):
    box = factories.box()
    receipt = factories.submission(factories.work(cap=20))
    address = reverse("admin:judging_job_change", args=[receipt.job])
    claimed = factories.claimed(box)
    for _ in range(2):
        queue.release(claimed.row.id, token=claimed.row.token, runner=box.id)
        claimed = factories.claimed(box)
    few = len(queries_of(client, address))
    for _ in range(3):
        queue.release(claimed.row.id, token=claimed.row.token, runner=box.id)
        claimed = factories.claimed(box)

    assert len(queries_of(client, address)) <= few


def test_a_list_of_assignments_asks_for_the_fleet_once(client):
    address = PAGES["contests.Assignment"][1]
    activity = Activity.objects.create(slug="cup", title="Cup")
    round_ = Round.objects.create(activity=activity, title="Heat")
    routing.assign(round_, factories.work().problem, slug="A")
    few = len(queries_of(client, address))
    for slug in "BCDE":
        routing.assign(round_, factories.work().problem, slug=slug)

    assert len(queries_of(client, address)) == few
