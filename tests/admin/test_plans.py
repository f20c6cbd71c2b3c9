"""What the lists read when the tables are large, counted by the database itself: no clock, so no busy machine matters."""

import json

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from judging.bench.population import populate
from judging.models import Job, Submission
from runners.models import Runner

pytestmark = pytest.mark.django_db(transaction=True)

SUBMISSIONS = 12_000
# A row on the list costs some thirty look-ups, for its author, its place and its newest attempt; all rows would cost
# three for each of them at least.
MOST_PAGES = 3_000
EXPLAIN = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "


@pytest.fixture
def large(transactional_db):
    """An administrator's browser on an installation after a contest."""
    connection.ensure_connection()
    populate(connection.connection, SUBMISSIONS)
    browser = Client()
    browser.force_login(User.objects.create_superuser("root"))
    return browser


def listed(client, address):
    """The statements that fetched the rows of a list; none where it was known before that there are no rows."""
    with CaptureQueriesContext(connection) as asked:
        assert client.get(address).status_code == 200
    table = f'FROM "judging_{address.split("/")[3]}"'
    return [query["sql"] for query in asked.captured_queries if table in query["sql"] and "LIMIT" in query["sql"]]


def pages_read(statement):
    """How many of the database's pages a statement touches."""
    with connection.cursor() as cursor:
        cursor.execute(EXPLAIN + statement.replace("%", "%%"), [])
        (told,) = cursor.fetchone()
    plan = (json.loads(told) if isinstance(told, str) else told)[0]["Plan"]
    return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]


def test_no_list_reads_a_large_table_whole(large):
    idle, job, submission = (model.objects.order_by("-id").values_list("id", flat=True)[0] for model in (Runner, Job, Submission))
    addresses = [
        "/admin/judging/submission/",
        "/admin/judging/submission/?state=superseded",
        "/admin/judging/submission/?verdict=said+by+no+runner",
        "/admin/judging/submission/?participant=team-77",
        f"/admin/judging/submission/?jobs__runner__id__exact={idle}",
        f"/admin/judging/submission/?q={submission}",
        "/admin/judging/submission/?q=0000dead",
        "/admin/judging/job/",
        "/admin/judging/job/?state__exact=failed",
        "/admin/judging/job/?state__exact=superseded",
        "/admin/judging/job/?priority__exact=2",
        f"/admin/judging/job/?q={str(job)[:13]}",
        f"/admin/judging/job/?runner__id__exact={idle}",
        f"/admin/judging/job/?q={job}",
        "/admin/judging/delivery/",
        f"/admin/judging/delivery/?q={job}",
        "/admin/judging/ledgerrecord/",
        f"/admin/judging/ledgerrecord/?q={job}",
    ]

    read = {address: sum(map(pages_read, listed(large, address))) for address in addresses}

    assert {address: pages for address, pages in read.items() if pages > MOST_PAGES} == {}
    # Every list that nothing narrows down has read some: or the statements that fetch rows were not the ones counted.
    assert all(pages for address, pages in read.items() if "?" not in address)
