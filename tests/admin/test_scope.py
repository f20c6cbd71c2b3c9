"""An operator of one organization sees nothing of another: by role, by page, by object, and by every way of asking."""

import uuid
from typing import Any

import pytest
from django.contrib import admin as django_admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from contests import reserving
from contests.models import Activity, Assignment, Operator, Participant
from judging.models import Job, Problem, Rejudging
from tests import factories
from tests.admin.reading import told, words
from tests.houses import OWNED, ROLES, route

pytestmark = pytest.mark.django_db
SHARED = ["runners.Runner", "runners.Pool", "judging.LedgerRecord", "judging.Installation", "auth.User", "auth.Group", "contests.Operator"]


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("label", OWNED)
def test_lists_and_pages_show_ours_and_nothing_of_theirs(houses, role, label):
    client = houses[0].account(role)
    own, foreign = (getattr(house, OWNED[label]) for house in houses)

    listed = client.get(route(label, "changelist"))
    own_page = client.get(route(label, "change", own.pk))
    foreign_page = client.get(route(label, "change", foreign.pk))
    history = client.get(route(label, "history", foreign.pk))

    assert (listed.status_code, own_page.status_code) == (200, 200)
    assert str(own.pk) in listed.content.decode()
    for answer in (listed, own_page):
        assert "theirs" not in answer.content.decode()
        assert str(foreign.pk) not in answer.content.decode()
    assert foreign_page.status_code == 302
    assert history.status_code in {302, 403, 404}
    assert "theirs" not in words(foreign_page) + words(history)


@pytest.mark.parametrize("role", ROLES)
def test_what_all_share_is_closed(houses, role):
    client = houses[0].account(role)

    answers = {label: client.get(route(label, "changelist")).status_code for label in SHARED}
    live = [client.get(address).status_code for address in ("/admin/live/", "/admin/live/tempo/", "/admin/judging/installation/drain/")]

    assert set(answers.values()) == {403}, answers
    assert live == [403, 403, 403]
    assert "may be claimed" not in words(client.get("/admin/"))
    assert "Runners" not in words(client.get("/admin/"))


def test_every_page_of_the_site_is_either_owned_or_closed(houses):
    client = houses[0].account("administrator")

    shown = {
        model._meta.label
        for model in django_admin.site._registry
        if client.get(route(f"{model._meta.app_label}.{model._meta.model_name}", "changelist")).status_code == 200
    }

    assert shown == set(OWNED)


@pytest.mark.parametrize("role", ROLES)
def test_no_act_reaches_theirs(houses, role):
    ours, theirs = houses
    client = ours.account(role)
    said = {"reason": "because", "mode": "ordinary", "password": "secret", "priority": "0"}
    before = Job.objects.count()

    for label, name in OWNED.items():
        page: Any = next(page for model, page in django_admin.site._registry.items() if model._meta.label == label)
        for act in page._extract_action_names(page.actions_detail):
            answer = client.post(route(label, act, getattr(theirs, name).pk), said)
            assert answer.status_code in {403, 404}, (label, act)

    assert Job.objects.count() == before
    assert Rejudging.objects.get(id=theirs.rejudging.id).state == "working"
    assert not LogEntry.objects.exists()


def test_acts_on_many_reach_only_ours(houses):
    ours, theirs = houses
    client = ours.account("contest operator")
    ticked = {"_selected_action": [ours.submission.id, theirs.submission.id]}

    said = {"action": "rejudge_many", "confirmed": "1", "reason": "x", "mode": "ordinary", "repeats": "1"}

    archive = client.post("/admin/judging/submission/", ticked | {"action": "download_many"})
    asked = client.post("/admin/judging/submission/", ticked | said)
    client.post("/admin/judging/submission/", said | {"_selected_action": [row.pk for row in asked.context["rows"]]})

    assert b"theirs" not in b"".join(archive.streaming_content)
    assert b"theirs" not in asked.content
    assert str(theirs.submission.id) not in asked.content.decode()
    made = Rejudging.objects.exclude(id__in=[ours.rejudging.id, theirs.rejudging.id]).get()
    assert made.organization == ours.organization.id
    assert list(made.items.values_list("submission", flat=True)) == [ours.submission.id]


FILTERS = {
    "judging/job": [("lane__problem__id__exact", "problem"), ("lane__assignment__round__activity__id__exact", "activity")],
    "judging/submission": [
        ("lane__problem__id__exact", "problem"),
        ("lane__assignment__round__activity__id__exact", "activity"),
        ("lane__assignment__round__id__exact", "round"),
    ],
    "judging/lane": [("problem__id__exact", "problem"), ("assignment__round__activity__id__exact", "activity")],
    "judging/problemversion": [("problem__id__exact", "problem")],
    "contests/activity": [("organization__id__exact", "organization")],
    "contests/round": [("activity__id__exact", "activity")],
    "contests/assignment": [("round__activity__id__exact", "activity"), ("round__id__exact", "round"), ("problem__id__exact", "problem")],
    "contests/participant": [("activity__id__exact", "activity")],
}


@pytest.mark.parametrize("path", FILTERS)
def test_a_filter_is_no_oracle(houses, path):
    ours, theirs = houses
    client = ours.account("contest operator")

    for name, row in FILTERS[path]:
        of_ours = client.get(f"/admin/{path}/", {name: getattr(ours, row).pk}).content.decode()
        of_theirs = client.get(f"/admin/{path}/", {name: getattr(theirs, row).pk}).content.decode()

        assert "theirs" not in of_theirs, name
        assert str(getattr(ours, OWNED[next(label for label in OWNED if label.lower() == path.replace("/", "."))]).pk) in of_ours, name


@pytest.mark.parametrize(
    "question", ["participant=theirs", "verdict=theirs verdict", "props__icontains=theirs", "q={submission}", "q={author}"]
)
def test_a_search_of_submissions_finds_nothing_of_theirs(houses, question):
    ours, theirs = houses
    client = ours.account("judge")
    asked = question.format(submission=theirs.submission.id, author=theirs.participant.id)

    page = client.get(f"/admin/judging/submission/?{asked}").content.decode()
    listed = client.get(f"/admin/judging/submission/rejudge-listed/?{asked}")
    archive = b"".join(client.get(f"/admin/judging/submission/sources.zip?{asked}").streaming_content)

    assert f"{theirs.submission.id}/" not in page
    assert "theirs cup" not in page
    assert listed.context["counted"] == 0
    assert b"theirs" not in archive


@pytest.mark.parametrize("path", ["judging/submission", "judging/job"])
def test_verdict_words_offered_are_our_own(houses, path):
    page = words(houses[0].account("judge").get(f"/admin/{path}/"))

    assert "theirs verdict" not in page


AUTOCOMPLETES = [
    ("judging", "submission", "lane"),
    ("contests", "round", "activity"),
    ("contests", "assignment", "round"),
    ("contests", "assignment", "problem"),
    ("contests", "assignment", "version"),
    ("contests", "participant", "activity"),
    ("contests", "participant", "user"),
    ("contests", "activity", "organization"),
    ("judging", "delivery", "runner"),
    ("judging", "problemversion", "problem"),
    ("contests", "operator", "user"),
]


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(("app", "model", "field"), AUTOCOMPLETES)
def test_an_autocomplete_offers_nothing_of_theirs(houses, role, app, model, field):
    client = houses[0].account(role)

    for term in ("", "theirs"):
        answer = client.get("/admin/autocomplete/", {"app_label": app, "model_name": model, "field_name": field, "term": term})
        assert "theirs" not in answer.content.decode()


def test_files_of_theirs_are_not_found(houses):
    ours, theirs = houses
    client = ours.account("judge")

    own = client.get(reverse("admin:judging_submission_file", args=[ours.submission.id, ours.source.id]))
    foreign = client.get(reverse("admin:judging_submission_file", args=[theirs.submission.id, theirs.source.id]))

    assert (own.status_code, foreign.status_code) == (200, 404)


def test_what_is_made_belongs_to_us_and_uses_only_ours(houses):
    ours, theirs = houses
    client = ours.account("contest operator")
    rounds = {"rounds-TOTAL_FORMS": "0", "rounds-INITIAL_FORMS": "0"}
    said = {"slug": "new", "title": "New", "priority": "1", "grain": "submission"}

    client.post("/admin/contests/activity/add/", said | rounds)
    refused = client.post("/admin/contests/activity/add/", said | rounds | {"slug": "next", "organization": theirs.organization.id})
    made = client.post(
        "/admin/judging/problem/add/",
        {
            "slug": "fresh",
            "title": "Fresh",
            "problem_type": "standard-io@1",
            "max_deliveries": "5",
            "timeout_seconds": "60",
            "adapter": "json",
        },
    )
    assert made.status_code == 302, made.context and made.context["adminform"].form.errors
    assignment = {"round": theirs.round.id, "problem": theirs.problem.id, "slug": "B", "position": "2"}
    foreign = client.post("/admin/contests/assignment/add/", assignment)

    assert Activity.objects.get(slug="new").organization == ours.organization
    assert not Activity.objects.filter(slug="next").exists()
    assert Problem.objects.get(slug="fresh").organization == ours.organization.id
    assert Assignment.objects.count() == 2
    assert "theirs" not in words(refused) + words(foreign)


@pytest.mark.parametrize("act", ["retag", "reserve", "give-back"])
def test_machines_are_not_for_an_operator_of_one_organization(houses, act):
    ours, _ = houses
    client = ours.account("contest operator")
    if act == "give-back":
        reserving.reserve(ours.activity.id, runners=[factories.box().id], pool="room-1")

    answer = client.get(route("contests.Activity", act.replace("-", "_"), ours.activity.id))

    assert answer.status_code == 403
    assert act.replace("-", "_") not in client.get(route("contests.Activity", "change", ours.activity.id)).content.decode()


def test_a_superuser_is_limited_by_nothing(houses):
    user = User.objects.create_superuser("chief")
    Operator.objects.create(user=user, organization=houses[0].organization)
    client = Client()
    client.force_login(user)

    assert "theirs cup" in words(client.get(route("contests.Activity", "changelist")))
    assert client.get("/admin/live/").status_code == 200


def test_an_operator_of_no_organization_sees_every_one(houses, staff):
    client = staff("contests.view_activity")

    page = words(client.get(route("contests.Activity", "changelist")))

    assert "ours cup" in page
    assert "theirs cup" in page


def test_only_administrators_of_the_whole_limit_operators(houses):
    ours, _ = houses
    answer = ours.account("administrator").post("/admin/contests/operator/add/", {"user": "1", "organization": str(ours.organization.id)})

    assert answer.status_code == 403


ASKED = [
    ("get", ""),
    ("get", "/submissions"),
    ("get", "/submissions/00000000-0000-7000-8000-000000000000"),
    ("post", "/enrolment"),
    ("post", "/problems/A/submissions"),
    ("post", "/tags"),
]


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(("method", "rest"), ASKED)
def test_another_s_activity_is_answered_as_one_that_is_not_there(houses, role, method, rest):
    client = houses[0].account(role)

    theirs, unknown = (getattr(client, method)(f"/api/v1/activities/{slug}{rest}") for slug in ("theirs-cup", "nobody-cup"))

    assert theirs.status_code in {403, 404}
    assert (theirs.status_code, theirs.json()) == (unknown.status_code, unknown.json())


def test_what_an_operator_takes_part_in_elsewhere_stays_open(houses):
    ours, theirs = houses
    client = ours.account("contest operator")
    user = Operator.objects.get().user
    Participant.objects.create(activity=theirs.activity, user=user, name="a guest")

    answers = [client.get(f"/api/v1/activities/theirs-cup{rest}") for rest in ("", "/submissions")]

    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[1].json()["submissions"] == []


@pytest.mark.parametrize("page", ["change", "history"])
@pytest.mark.parametrize("label", OWNED)
def test_another_s_page_is_answered_as_one_that_is_not_there(houses, label, page):
    client, foreign = houses[0].account("contest operator"), getattr(houses[1], OWNED[label])

    def answered(id_):
        answer = client.get(route(label, page, id_))
        said = [answer.headers.get("Location", ""), words(answer), *told(client)]
        return answer.status_code, [each.replace(str(id_), "ID") for each in said]

    assert answered(foreign.pk) == answered(uuid.uuid4())


def test_a_roster_tells_nothing_of_accounts_elsewhere(houses):
    ours, _ = houses
    User.objects.create_user("theirs-chief", is_staff=True)
    client = ours.account("contest operator")
    table = (
        "theirs-pupil, One, long-enough-word\nnobody-yet, Two, long-enough-word\ntheirs-chief, Three, long-enough-word\nours-pupil, Four"
    )

    def take_in(**said):
        address = f"/admin/contests/activity/{ours.activity.id}/take-in/"
        return words(client.post(address, {"reason": "list", "table": table} | said))

    seen = take_in()
    take_in(sure="on")

    assert seen.count("joins; gets an account if there is none of this name") == 3
    assert "takes part already" in seen
    assert "operator" not in seen.split("Look at the lines above")[0]
    assert Participant.objects.filter(activity=ours.activity).count() == 4
    assert not User.objects.get(username="theirs-pupil").has_usable_password()


def test_a_bad_password_is_a_fault_whether_there_is_an_account_or_not(houses):
    ours, _ = houses
    client = ours.account("contest operator")
    address = f"/admin/contests/activity/{ours.activity.id}/take-in/"

    known, unknown = (
        words(client.post(address, {"reason": "list", "table": f"{login}, One, 123"})).replace(login, "LOGIN")
        for login in ("theirs-pupil", "nobody-yet")
    )

    assert "too short" in known
    assert known == unknown


@pytest.mark.parametrize("role", ROLES)
def test_the_interface_for_programs_keeps_to_ours(houses, role):
    ours, theirs = houses
    client, api = ours.account(role), "/api/v1"
    said = {"content_type": "application/json", "data": {"reason": "x", "urgent": False}}

    activities = {row["slug"] for row in client.get(f"{api}/activities").json()["activities"]}
    reads = [client.get(f"{api}/activities/{house.word}-cup/submissions").status_code for house in houses]
    one = [client.get(f"{api}/activities/{house.word}-cup/submissions/{house.submission.id}").status_code for house in houses]
    inside = client.get(f"{api}/activities/theirs-cup")
    rejudged = [client.post(f"{api}/submissions/{house.submission.id}/rejudge", **said).status_code for house in houses]
    cancel = client.post(f"{api}/submissions/{theirs.submission.id}/attempts/{theirs.job.id}/cancel", **said)
    shared = [
        client.get(f"{api}/runners").status_code,
        client.post(f"{api}/maintenance", content_type="application/json", data={"level": "closed", "reason": "x"}).status_code,
        client.post(f"{api}/activities/ours-cup/tags", content_type="application/json", data={"tags": ["x"]}).status_code,
    ]

    assert activities == {"ours-cup"}
    assert (reads, one) == ([200, 404], [200, 404])
    assert inside.status_code == 404
    assert rejudged == ([403, 403] if role == "observer" else [201, 404])
    assert cancel.status_code in {403, 404}
    assert shared == [403, 403, 403]
    assert Job.objects.filter(submission=theirs.submission).count() == 1
