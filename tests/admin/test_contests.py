"""What operators make and change of contests."""

import pytest
from django.contrib.auth.models import User

from contests import rooms, routing
from contests.models import Activity, Assignment, Participant, Round
from judging.models import Lane
from runners.models import Pool, Runner
from tests import factories
from tests.admin.reading import told, words

pytestmark = pytest.mark.django_db
ACTIVITIES, ROUNDS, ASSIGNMENTS = "/admin/contests/activity/", "/admin/contests/round/", "/admin/contests/assignment/"


@pytest.fixture
def contest():
    """An activity with one round and one assignment: (activity, round, assignment)."""
    activity = Activity.objects.create(slug="finals", title="Finals", pools=["hall-a"])
    main = Round.objects.create(activity=activity, position=1, title="Main")
    return activity, main, routing.assign(main, factories.work(slug="sum").problem, slug="A")


def pools_of(assignment):
    return Lane.objects.get(assignment=assignment).pools


def no_rounds(**more):
    return {"rounds-TOTAL_FORMS": 0, "rounds-INITIAL_FORMS": 0} | more


def test_making_an_activity_with_its_pools(client):
    said = {"title": "Finals", "slug": "finals", "pools": " Hall-A , hall-b", "priority": 1, "grain": "submission"}

    client.post(f"{ACTIVITIES}add/", no_rounds(**said))

    assert Activity.objects.get().pools == ["hall-a", "hall-b"]
    assert set(Pool.objects.values_list("name", flat=True)) == {"hall-a", "hall-b"}


def test_an_activity_s_form_speaks_of_activities(client, contest):
    pages = [words(client.get(f"{ACTIVITIES}{where}")) for where in ("add/", f"{contest[0].id}/change/")]

    assert all("Runners with one of these tags judge it. Empty: `default`." in page for page in pages)
    assert "What is judged one at a time. It stays as it is made." in pages[0]


def test_other_pools_reach_the_lanes_at_once(client, contest):
    activity, _, assignment = contest

    client.post(f"{ACTIVITIES}{activity.id}/retag/", {"more": "hall-b", "reason": "power cut", "anyway": "on"})

    assert pools_of(assignment) == ["hall-b"]
    assert told(client) == ["Finals is judged in hall-b now."]


def test_a_round_s_own_pools_win(client, contest):
    _, main, assignment = contest

    client.post(f"{ROUNDS}{main.id}/retag/", {"more": "hall-c", "reason": "its own room"})
    own = pools_of(assignment)
    client.post(f"{ROUNDS}{main.id}/retag/", {"reason": "back"})

    assert own == ["hall-c"]
    assert pools_of(assignment) == ["hall-a"]


def test_pools_that_strand_waiting_work_have_to_be_confirmed(client, contest):
    activity, _, assignment = contest
    lane = Lane.objects.get(assignment=assignment)
    factories.submission(factories.Work(assignment.problem, assignment.problem.versions.get(), lane))

    asked = client.post(f"{ACTIVITIES}{activity.id}/retag/", {"more": "attic", "reason": "try"})

    assert "No runner would be left for waiting standard-io@1 in attic." in words(asked)
    assert pools_of(assignment) == ["hall-a"]


def test_editing_an_activity_leaves_its_pools_alone(client, contest):
    activity, main, _ = contest
    form: dict[str, object] = {"title": "World finals", "pools": "attic", "slug": "other"}
    form |= {"rounds-TOTAL_FORMS": 1, "rounds-INITIAL_FORMS": 1, "rounds-0-id": main.id, "rounds-0-activity": activity.id}

    client.post(f"{ACTIVITIES}{activity.id}/change/", form | {"rounds-0-position": 1, "rounds-0-title": "Morning"})

    activity.refresh_from_db()
    main.refresh_from_db()
    assert (activity.title, activity.slug, activity.pools, main.title) == ("World finals", "finals", ["hall-a"], "Morning")


def test_assigning_a_problem_makes_its_lane(client, contest):
    _, main, _ = contest
    problem = factories.work(slug="paths").problem
    config = '{ "limits": {"timeMs": 1000} }'

    client.post(f"{ASSIGNMENTS}add/", {"round": main.id, "problem": problem.id, "slug": "B", "position": 2, "config": config})

    made = Assignment.objects.get(slug="B")
    assert (made.lane.pools, made.lane.config) == (["hall-a"], '{"limits":{"timeMs":1000}}')


@pytest.mark.parametrize(
    ("config", "code"), [("{", "opaque.notJson"), ("[1]", "opaque.notAnObject"), ('{"a":"' + "x" * 300_000 + '"}', "opaque.tooLarge")]
)
def test_a_configuration_is_refused_in_words(client, contest, config, code):
    _, main, _ = contest
    problem = factories.work().problem

    answer = client.post(f"{ASSIGNMENTS}add/", {"round": main.id, "problem": problem.id, "slug": "B", "position": 2, "config": config})

    assert code in words(answer)
    assert not Assignment.objects.filter(slug="B").exists()


def test_another_configuration_is_what_the_next_claim_carries(client, contest):
    *_, assignment = contest

    client.post(f"{ASSIGNMENTS}{assignment.id}/change/", {"slug": "A", "position": 1, "config": '{"x":1}'})

    assert Lane.objects.get(assignment=assignment).config == '{"x":1}'


def test_a_version_of_another_problem_is_not_pinned(client, contest):
    *_, assignment = contest
    other = factories.work().version

    answer = client.post(f"{ASSIGNMENTS}{assignment.id}/change/", {"slug": "A", "position": 1, "version": other.id})

    assert "This version belongs to another problem." in words(answer)


def test_jobs_and_submissions_are_filtered_by_activity(client, contest):
    activity, _, assignment = contest
    inside = factories.submission(factories.Work(assignment.problem, assignment.problem.versions.get(), assignment.lane))
    outside = factories.submission()

    for address, ids in (("job", (inside.job, outside.job)), ("submission", (inside.submission, outside.submission))):
        page = words(client.get(f"/admin/judging/{address}/?lane__assignment__round__activity__id__exact={activity.id}"))
        assert str(ids[0])[-12:] in page
        assert str(ids[1])[-12:] not in page


def test_a_list_says_who_sent_what_where(client, contest):
    activity, _, assignment = contest
    user = User.objects.create_user("ada")
    ada = Participant.objects.create(activity=activity, user=user, name="<b>Ada</b>")
    factories.submission(factories.Work(assignment.problem, assignment.problem.versions.get(), assignment.lane), author=ada.id)

    for address in ("job", "submission"):
        page = client.get(f"/admin/judging/{address}/")
        assert "<b>Ada</b> finals / A" in words(page)
        assert "<b>Ada</b>" not in page.content.decode()


def test_an_activity_shows_how_many_runners_judge_it(client, contest):
    activity, *_ = contest
    factories.box(tags=("hall-a",))

    assert "1 runner, 0 connected" in words(client.get(f"{ACTIVITIES}{activity.id}/change/"))


def test_a_pool_shows_what_uses_it(client, contest):
    activity, *_ = contest
    box = factories.box(tags=("hall-a",))
    pool = Pool.objects.get_or_create(name="hall-a")[0]

    page = words(client.get(f"/admin/runners/pool/{pool.id}/change/"))

    assert box.runner.name in page
    assert activity.title in page
    assert "1 activities, 0 rounds" in words(client.get("/admin/runners/pool/"))


def test_renaming_a_pool_renames_it_everywhere(client, contest):
    activity, _, assignment = contest
    box = factories.box(tags=("hall-a", "fast"))
    pool = Pool.objects.get_or_create(name="hall-a")[0]

    client.post(f"/admin/runners/pool/{pool.id}/rename/", {"name": "Hall-Z", "reason": "new signs"})

    activity.refresh_from_db()
    assert Runner.objects.get(id=box.id).tags == ["hall-z", "fast"]
    assert (activity.pools, pools_of(assignment)) == (["hall-z"], ["hall-z"])
    assert not Pool.objects.filter(name="hall-a").exists()


def test_renaming_to_a_name_in_use_merges_the_two(contest):
    box = factories.box(tags=("hall-a", "hall-b"))

    rooms.rename("hall-a", to="hall-b")

    assert Runner.objects.get(id=box.id).tags == ["hall-b"]


def test_a_pool_is_not_renamed_to_nothing(client):
    pool = Pool.objects.create(name="hall-a")

    client.post(f"/admin/runners/pool/{pool.id}/rename/", {"name": " hall-A ", "reason": "x"})

    assert any("malformed_request" in each for each in told(client))
    assert Pool.objects.filter(name="hall-a").exists()
