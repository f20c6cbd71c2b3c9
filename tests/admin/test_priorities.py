"""Another class of priority for many jobs at once: counted, with a reason, and each in the ledger."""

import pytest
from django.urls import reverse

from judging import queue
from judging.admin import priorities
from judging.models import Job, LedgerRecord
from tests import factories
from tests.admin.reading import told, words

pytestmark = pytest.mark.django_db
LIST = "/admin/judging/job/"
LISTED = "/admin/judging/job/prioritise-listed/"
SAID = {"priority": "2", "reason": "practice can wait"}


@pytest.fixture
def three(judged):
    """Two waiting jobs and one that is over: their ids, that one last."""
    waiting = [factories.submission().job for _ in range(2)]
    return [*waiting, judged[1].row.id]


def classes(ids):
    found = dict(Job.objects.filter(id__in=ids).values_list("id", "priority"))
    return [found[id_] for id_ in ids]


def move(client, query="", **said):
    address = f"{LISTED}?{query}"
    return client.post(address, SAID | {"counted": str(client.get(address).context["counted"])} | said)


def test_ticked_ones_are_counted_before_and_moved_together(client, three):
    ticked = {"action": "prioritise_many", "_selected_action": three}

    asked = words(client.post(LIST, ticked))
    client.post(LIST, ticked | SAID | {"confirmed": "1"})

    assert "2 in the class contest now." in asked
    assert "1 skipped: over already." in asked
    assert classes(three) == [2, 2, 1]
    assert told(client) == ["2 jobs are in the class practice now. 1 skipped: over already."]
    assert set(LedgerRecord.objects.filter(type="prioritised").values_list("data__reason", flat=True)) == {"practice can wait"}


def test_what_is_listed_is_moved_and_nothing_else(client, three):
    other = factories.submission(factories.work(slug="other"))
    wanted = Job.objects.get(id=three[0]).lane.problem_id

    answer = move(client, f"lane__problem__id__exact={wanted}")

    assert answer.headers["Location"] == f"{reverse('admin:judging_job_changelist')}?lane__problem__id__exact={wanted}"
    assert classes([three[0], other.job]) == [2, 1]


def test_nothing_moves_without_a_reason_or_a_class(client, three):
    assert move(client, reason="").status_code == 200
    assert move(client, priority="").status_code == 200
    assert classes(three) == [1, 1, 1]


def test_more_than_was_counted_is_asked_about_again(client, three):
    counted = client.get(LISTED).context["counted"]
    factories.submission()

    answer = client.post(LISTED, SAID | {"counted": str(counted)})

    assert "look again" in words(answer)
    assert classes(three) == [1, 1, 1]


@pytest.mark.parametrize("counted", ["", "x", "-1", "9" * 30])
def test_a_count_that_is_none_moves_nothing(client, three, counted):
    client.post(LISTED, SAID | {"counted": counted})

    assert classes(three) == [1, 1, 1]


def test_of_very_many_the_oldest_go_first_and_the_page_says_so(client, three, monkeypatch):
    monkeypatch.setattr(priorities, "MOST_MOVED", 1)

    page = words(client.get(LISTED))
    move(client)

    assert "These are the oldest 1; there are more" in page
    assert classes(three) == [2, 1, 1]


@pytest.mark.parametrize("method", ["get", "post"])
def test_who_may_not_change_a_class_changes_none(staff, three, method):
    observer = staff("judging.view_job")

    assert getattr(observer, method)(LISTED, SAID | {"counted": "9"}).status_code == 403
    observer.post(LIST, SAID | {"action": "prioritise_many", "_selected_action": three, "confirmed": "1"})
    assert classes(three) == [1, 1, 1]


def test_a_job_that_ends_meanwhile_is_skipped(client, three):
    counted = client.get(LISTED).context["counted"]
    queue.cancel(three[0], by="user:1", reason="meanwhile")

    client.post(LISTED, SAID | {"counted": str(counted)})

    assert classes(three) == [1, 2, 1]


def test_nothing_listed_is_nothing_to_change(client, judged):
    answer = move(client, "state__exact=completed")

    assert "state = completed" in words(answer)
    assert "There is nothing to change" in words(answer)
