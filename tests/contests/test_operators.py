"""What operators decide: contests/api/runners.py and operators.py."""

from uuid import uuid4

import pytest
from django.test import Client

from judging import queue
from judging.errors import LeaseStale
from judging.models import Installation, Job, LedgerRecord
from judging.queue import Report
from runners.models import Runner
from tests import factories
from tests.contests.conftest import API, account, logged_in, operator_with, program, send

pytestmark = pytest.mark.django_db(transaction=True)


def post(client, path, body=None):
    """A POST of this JSON, or of no body at all."""
    if body is None:
        return client.generic("POST", f"{API}/{path}")
    return client.post(f"{API}/{path}", body, content_type="application/json")


ACTS = {
    "runners.approve_runner": "runners/{runner}/approve",
    "runners.revoke_runner": "runners/{runner}/revoke",
    "runners.retag_runner": "runners/{runner}/tags",
    "judging.rejudge_submission": "submissions/{submission}/rejudge",
    "judging.cancel_job": "submissions/{submission}/attempts/{job}/cancel",
    "judging.maintain_installation": "maintenance",
    "contests.retag_activity": "activities/SPRING/tags",
}
BODY = {"tags": ["hall"], "level": "open", "reason": "because"}


@pytest.fixture
def places(contest, student):
    receipt = send(student, contest)
    ids = {"runner": factories.pending_box().id, "submission": receipt["id"], "job": receipt["attempts"][0]["jobId"]}
    return {permission: path.format(**ids) for permission, path in ACTS.items()}


@pytest.mark.parametrize("permission", ACTS)
def test_each_act_needs_its_own_permission_and_no_other(places, permission):
    steward = operator_with(permission)

    answers = {name: post(steward, path, BODY) for name, path in places.items()}

    assert {name for name, answer in answers.items() if answer.status_code < 300} == {permission}
    assert {answer.json()["code"] for name, answer in answers.items() if name != permission} == {"forbidden"}


def test_a_permission_without_being_on_the_staff_is_none(places):
    steward = operator_with(*ACTS)
    account_ = steward.get(f"{API}/identity/me").json()
    assert account_["isOperator"]
    from django.contrib.auth.models import User

    User.objects.filter(username="steward").update(is_staff=False)

    assert {post(steward, path, BODY).status_code for path in places.values()} == {403}


def test_participants_strangers_and_runners_decide_nothing(places, student):
    box = factories.box()

    for path in places.values():
        assert post(student, path, BODY).status_code == 403
        assert post(Client(), path, BODY).status_code == 401
        assert Client().post(f"{API}/{path}", BODY, content_type="application/json", headers=box.bearer).status_code == 401


def test_a_runners_token_opens_nothing_for_people(contest):
    box = factories.box()

    paths = [f"{API}/identity/me", f"{API}/activities", f"{API}/runners", f"{contest.url}/submissions"]

    assert {Client().get(path, headers=box.bearer).status_code for path in paths} == {401}


def test_an_approved_runner_judges(contest, admin):
    waiting = factories.pending_box(name="box-1")

    answer = post(admin, f"runners/{waiting.id}/approve")

    assert (answer.status_code, answer.json()["state"], answer.json()["fingerprint"]) == (200, "approved", waiting.fingerprint)
    assert post(admin, f"runners/{waiting.id}/approve").status_code == 200
    assert factories.new_token(waiting)


def test_a_revoked_runner_gives_back_what_it_holds_and_is_never_approved_again(contest, student, admin):
    send(student, contest)
    box = factories.box()
    held = factories.claimed(box)

    answer = post(admin, f"runners/{box.id}/revoke", {"reason": "stolen"})
    again = post(admin, f"runners/{box.id}/approve")

    assert (answer.status_code, answer.json()["returned"]) == (200, [str(held.row.id)])
    assert answer.json()["runner"]["state"] == "revoked"
    assert (again.status_code, again.json()["code"]) == (409, "runner.revoked")
    assert Runner.objects.get().revoke_reason == "stolen"


def test_a_reason_is_not_required(admin):
    assert post(admin, f"runners/{factories.box().id}/revoke").status_code == 200


def test_tags_of_a_runner_are_kept_clean(admin):
    box = factories.box()

    answer = post(admin, f"runners/{box.id}/tags", {"tags": ["Finals", " finals", "hall-1"]})

    assert answer.json() == {"tags": ["finals", "hall-1"]}
    assert Runner.objects.get().tags == ["finals", "hall-1"]


def test_all_runners_are_listed_the_waiting_ones_too(admin):
    factories.box(name="old")
    factories.pending_box(name="new")

    listed = admin.get(f"{API}/runners").json()["runners"]

    assert [(row["name"], row["state"]) for row in listed] == [("new", "pendingApproval"), ("old", "approved")]


@pytest.mark.parametrize("path", ["runners/{}/approve", "runners/{}/revoke", "runners/{}/tags", "submissions/{}/rejudge"])
def test_what_does_not_exist_is_not_found(admin, path):
    assert post(admin, path.format(uuid4()), {"tags": []}).status_code == 404
    assert post(admin, path.format("no-id"), {"tags": []}).status_code == 404


def test_a_rejudge_opens_the_next_attempt_and_keeps_who_and_why(contest, student, admin):
    receipt, box = send(student, contest), factories.box()
    job = factories.claimed(box)
    queue.report(job.row.id, Report(verdict="Accepted"), token=job.row.token, runner=box.id)

    answer = post(admin, f"submissions/{receipt['id']}/rejudge", {"reason": "new tests", "urgent": True})

    opened = Job.objects.get(id=answer.json()["jobId"])
    assert (answer.status_code, opened.attempt, opened.urgent) == (201, 2, True)
    record = LedgerRecord.objects.get(job=opened.id, type="submitted")
    assert (record.actor.startswith("user:"), record.data["reason"]) == (True, "new tests")


def test_two_rejudges_leave_one_waiting(contest, student, admin):
    receipt = send(student, contest)

    jobs = [post(admin, f"submissions/{receipt['id']}/rejudge").json()["jobId"] for _ in range(2)]

    assert len(set(jobs)) == 2
    assert list(Job.objects.filter(state="queued").values_list("attempt", flat=True)) == [3]


def test_a_cancelled_attempt_is_no_longer_its_holders(contest, student, admin):
    receipt, box = send(student, contest), factories.box()
    held = factories.claimed(box)

    answer = post(admin, f"submissions/{receipt['id']}/attempts/{held.row.id}/cancel", {"reason": "a mistake"})

    assert (answer.status_code, answer.json()["state"], answer.json()["reason"]) == (200, "cancelled", "a mistake")
    with pytest.raises(LeaseStale):
        queue.report(held.row.id, Report(verdict="Accepted"), token=held.row.token, runner=box.id)


def test_a_finished_attempt_cannot_be_cancelled(contest, student, admin):
    receipt = send(student, contest)
    path = f"submissions/{receipt['id']}/attempts/{receipt['attempts'][0]['jobId']}/cancel"

    answers = [post(admin, path) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [200, 409]
    assert answers[1].json()["code"] == "job.state"


def test_an_attempt_is_cancelled_under_its_own_submission_only(contest, student, admin):
    one, other = send(student, contest), send(student, contest)

    answer = post(admin, f"submissions/{one['id']}/attempts/{other['attempts'][0]['jobId']}/cancel")

    assert answer.status_code == 404
    assert Job.objects.filter(state="cancelled").count() == 0


# Maintenance.


@pytest.mark.parametrize("level", ["draining", "closed"])
def test_in_maintenance_people_are_sent_away_until_an_operator_opens_again(contest, student, admin, level):
    closed = post(admin, "maintenance", {"level": level, "reason": "new disks"})
    paths = [f"{API}/activities", f"{contest.url}/submissions", f"{API}/runners"]
    away = [client.get(path) for path in paths for client in (student, admin)] + [student.post(contest.sending, **program())]
    opened = post(admin, "maintenance", {"level": "open"})

    assert (closed.status_code, closed.json()["level"], closed.json()["reason"]) == (200, level, "new disks")
    assert {(answer.status_code, answer.json()["code"], answer["Retry-After"]) for answer in away} == {(503, "server.maintenance", "30")}
    assert away[0].json()["detail"] == "new disks"
    assert opened.json() == {"level": "open", "reason": ""}
    assert student.post(contest.sending, **program()).status_code == 201


def test_saying_it_again_keeps_the_first_time_and_reason(admin):
    first = post(admin, "maintenance", {"level": "draining", "reason": "one"}).json()

    assert post(admin, "maintenance", {"level": "draining", "reason": "two"}).json() == first


def test_operators_can_log_in_to_end_a_maintenance(transactional_db):
    account("admin", is_staff=True, is_superuser=True)
    account("student")
    Installation.objects.create(level="closed")
    login = {"password": "a-long-password"}

    answers = [post(Client(), "identity/login", login | {"email": name}) for name in ("admin", "student")]

    assert [answer.status_code for answer in answers] == [200, 503]


def test_a_level_nobody_knows_is_refused(admin):
    assert [post(admin, "maintenance", body).status_code for body in ({"level": "half"}, {}, {"level": ["open"]})] == [400, 400, 400]


def test_a_superuser_who_is_not_on_the_staff_is_no_operator(transactional_db):
    assert logged_in(account("root", is_superuser=True)).get(f"{API}/runners").status_code == 403
