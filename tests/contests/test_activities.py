"""What is on, and taking part in it: contests/api/activities.py."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from contests.models import Activity, Participant, Round
from contests.routing import assign
from tests.contests.conftest import API, account, at_once, logged_in, operator_with

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def visitor():
    """Somebody with an account who takes part in nothing."""
    return logged_in(account("visitor"))


def test_nobody_sees_anything_without_a_login(contest):
    assert {Client().get(f"{API}/{path}").status_code for path in ("activities", "activities/SPRING", "identity/me")} == {401}


def test_a_visitor_is_shown_what_may_be_joined_and_no_problems(contest, visitor):
    Activity.objects.create(slug="closed-shop", title="For members")

    listed = visitor.get(f"{API}/activities").json()["activities"]
    inside = visitor.get(contest.url).json()

    assert [(row["slug"], row["enrolled"], row["enrolmentOpen"]) for row in listed] == [("SPRING", False, True)]
    assert [(round_["title"], round_["problems"]) for round_ in inside["rounds"]] == [("First", [])]


def test_who_takes_part_sees_the_problems(contest, student):
    inside = student.get(contest.url).json()

    assert inside["enrolled"] is True
    assert inside["rounds"][0]["problems"] == [{"slug": "A", "title": "Sum", "problemType": "standard-io@1"}]


def test_problems_are_shown_from_their_rounds_beginning_on(contest, student, admin, clock):
    Round.objects.update(opens_at=timezone.now() + timedelta(hours=1))

    before, for_operators = student.get(contest.url).json(), admin.get(contest.url).json()
    clock.forward(hours=2)
    after = student.get(contest.url).json()

    assert [len(seen["rounds"][0]["problems"]) for seen in (before, for_operators, after)] == [0, 1, 1]


def test_an_activity_that_begins_later_shows_nothing_of_its_rounds_yet(contest, student):
    Activity.objects.update(opens_at=timezone.now() + timedelta(hours=1))

    assert student.get(contest.url).json()["rounds"][0]["problems"] == []


def test_what_takes_nobody_in_is_not_shown_to_strangers(contest, visitor):
    Activity.objects.update(enrolment_open=False)

    assert visitor.get(f"{API}/activities").json() == {"activities": []}
    assert visitor.get(contest.url).content == visitor.get(f"{API}/activities/NONE").content
    assert visitor.get(contest.url).status_code == 404


@pytest.mark.parametrize("spelling", ["enrolment", "enrollment"])
def test_taking_part_is_said_once_and_may_be_repeated(contest, visitor, spelling):
    first, again = (visitor.post(f"{contest.url}/{spelling}") for _ in range(2))

    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    assert (first.json()["activity"], first.json()["name"]) == ("SPRING", "visitor")
    assert Participant.objects.count() == 1


def test_an_instant_has_six_digits_and_a_z(contest, visitor):
    joined = visitor.post(f"{contest.url}/enrolment").json()["joinedAt"]

    assert (len(joined), joined[-1], joined[-8]) == (27, "Z", ".")


def test_taking_part_twice_at_once_is_taking_part_once(contest, visitor):
    answers = at_once(account("twin"), lambda client: client.post(f"{contest.url}/enrolment"))

    assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 201]
    assert len({answer.json()["id"] for answer in answers}) == 1


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        ({"enrolment_open": False}, (404, "not_found")),
        ({"closes_at": timezone.now() - timedelta(seconds=1)}, (403, "activity.enrolmentClosed")),
    ],
)
def test_what_is_over_or_takes_nobody_in_cannot_be_joined(contest, visitor, student, change, refusal):
    Activity.objects.update(**change)

    answer = visitor.post(f"{contest.url}/enrolment")

    assert (answer.status_code, answer.json()["code"]) == refusal
    assert student.post(f"{contest.url}/enrolment").status_code == 200


def test_an_unknown_activity_is_not_found(student):
    answers = [student.get(f"{API}/activities/NONE"), student.post(f"{API}/activities/NONE/enrolment")]

    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(404, "not_found")] * 2


def test_looking_costs_the_same_however_much_there_is(contest, student, django_assert_max_num_queries):
    for number in range(5):
        round_ = Round.objects.create(activity=contest.activity, position=number + 2, title="More")
        assign(round_, contest.assignment.problem, slug="B")
        assign(round_, contest.assignment.problem, slug="C")

    with django_assert_max_num_queries(10):
        assert len(student.get(contest.url).json()["rounds"]) == 6


def test_an_operator_redirects_an_activity_to_other_pools(contest):
    steward = operator_with("contests.retag_activity")

    answer = steward.post(f"{contest.url}/tags", {"tags": [" Hall-1 ", "hall-1", ""]}, content_type="application/json")
    contest.assignment.lane.refresh_from_db()

    assert (answer.status_code, answer.json()) == (200, {"tags": ["hall-1"]})
    assert contest.assignment.lane.pools == ["hall-1"]


def test_tags_that_break_a_rule_are_refused_with_it(contest, admin):
    bodies = [{"tags": [str(number) for number in range(17)]}, {"tags": ["x" * 65]}, {"tags": "x"}, {"tags": ["\x00"]}]

    answers = [admin.post(f"{contest.url}/tags", body, content_type="application/json") for body in bodies]

    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [
        (422, "runner.tags.count"),
        (422, "runner.tags.length"),
        (400, "malformed_request"),
        (400, "malformed_request"),
    ]
