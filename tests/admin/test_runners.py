"""What operators see of machines, and say of them."""

import pytest
from django.contrib.admin.models import LogEntry
from django.db.models.functions import Now
from django.urls import reverse

from judging import queue
from judging.models import Job
from runners import channel_keys, presence
from runners.models import Pool, Runner, RunnerState
from tests import factories
from tests.admin.reading import told, words

pytestmark = pytest.mark.django_db
RUNNERS = "/admin/runners/runner/"


def act(client, box, name, **said):
    return client.post(f"{RUNNERS}{box.id}/{name}/", said)


def state_of(box):
    return Runner.objects.get(id=box.id).state


def test_pending_keys_come_first_with_their_fingerprint_to_read_aloud(client):
    factories.box(name="old-box")
    pending = factories.pending_box(name="new-box")

    page = words(client.get(RUNNERS))

    assert page.index("new-box") < page.index("old-box")
    groups = [pending.fingerprint[place : place + 4] for place in range(0, 64, 4)]
    assert " ".join(groups) in page


def test_approving_a_key(client):
    box = factories.pending_box()

    act(client, box, "approve", compared="on")

    assert state_of(box) == RunnerState.APPROVED


def test_approving_without_comparing_does_nothing(client):
    box = factories.pending_box()

    answer = act(client, box, "approve")

    assert "anybody can register a key under any name" in words(answer)
    assert state_of(box) == RunnerState.PENDING


def test_the_dialog_shows_the_fingerprint_to_compare(client):
    box = factories.pending_box()

    asked = words(client.get(f"{RUNNERS}{box.id}/approve/"))

    assert f"{box.fingerprint[:4]} {box.fingerprint[4:8]}" in asked


def test_approving_many_keys(client):
    boxes = [factories.pending_box() for _ in range(3)]
    chosen = {"action": "approve_many", "_selected_action": [box.id for box in boxes]}

    asked = words(client.post(RUNNERS, chosen))
    client.post(RUNNERS, chosen | {"confirmed": "1", "compared": "on"})

    assert all(f"{box.fingerprint[:4]} {box.fingerprint[4:8]}" in asked for box in boxes)
    assert {state_of(box) for box in boxes} == {RunnerState.APPROVED}


def test_an_approval_does_not_overtake_a_revocation(client):
    box = factories.pending_box()
    queue.revoke(box.id, by="user:1", reason="unknown machine")

    act(client, box, "approve", compared="on")

    assert told(client) == ["This key was revoked, and that is for ever. (runner.revoked)"]
    assert state_of(box) == RunnerState.REVOKED


def test_revoking_says_which_jobs_go_back_and_sends_them(client, held):
    box, claimed = held

    asked = words(client.get(f"{RUNNERS}{box.id}/revoke/"))
    act(client, box, "revoke", reason="stolen", password="secret")

    assert f"Goes back to the queue: {Job.objects.get().lane.problem.slug} attempt 1" in asked
    assert Job.objects.get(id=claimed.row.id).state == "queued"
    assert Runner.objects.get(id=box.id).revoke_reason == "stolen"
    assert told(client) == [f"{box.runner.name} was revoked; 1 job went back to the queue."]


def test_revoking_the_last_runner_warns_of_the_work_it_leaves(client, held):
    box, _ = held
    factories.submission()

    assert "No runner is left for waiting work: standard-io@1 default" in words(client.get(f"{RUNNERS}{box.id}/revoke/"))


def test_retagging_by_boxes_to_tick_and_new_names(client):
    box = factories.box(tags=("hall-a",))
    Pool.objects.create(name="hall-b")

    act(client, box, "retag", reason="new signs", pools=["hall-b"], more=" Lab-1 ,lab-1")

    assert Runner.objects.get(id=box.id).tags == ["hall-b", "lab-1"]
    assert Pool.objects.filter(name="lab-1").exists()


def test_retagging_that_strands_waiting_work_has_to_be_confirmed(client):
    box = factories.box(tags=("hall-a",))
    factories.submission(factories.work(pools=("hall-a",)))
    Pool.objects.create(name="hall-b")

    asked = act(client, box, "retag", reason="new signs", pools=["hall-b"])
    before = Runner.objects.get(id=box.id).tags
    act(client, box, "retag", reason="new signs", pools=["hall-b"], anyway="on")

    assert "No runner would be left for waiting standard-io@1 in hall-a." in words(asked)
    assert before == ["hall-a"]
    assert Runner.objects.get(id=box.id).tags == ["hall-b"]


def test_retagging_that_strands_nothing_is_not_asked_twice(client):
    box = factories.box(tags=("hall-a",))
    factories.box(tags=("hall-a",))
    factories.submission(factories.work(pools=("hall-a",)))

    act(client, box, "retag", reason="new signs", more="hall-b")

    assert Runner.objects.get(id=box.id).tags == ["hall-b"]


def test_retagging_many_at_once(client):
    boxes = [factories.box(tags=("hall-a",)) for _ in range(2)]
    chosen = {"action": "retag_many", "_selected_action": [box.id for box in boxes], "confirmed": "1"}

    asked = words(client.post(RUNNERS, {name: chosen[name] for name in ("action", "_selected_action")}))
    client.post(RUNNERS, chosen | {"more": "hall-z"})
    without = [runner.tags for runner in Runner.objects.all()]
    client.post(RUNNERS, chosen | {"more": "hall-z", "reason": "new signs"})

    assert "2 runners; 0 jobs held now" in asked
    assert without == [["hall-a"], ["hall-a"]]
    assert [runner.tags for runner in Runner.objects.all()] == [["hall-z"], ["hall-z"]]


@pytest.mark.parametrize("more", [",".join(f"t{n}" for n in range(17)), "x" * 65])
def test_too_many_or_too_long_tags_are_refused_in_words(client, more):
    box = factories.box()

    answer = act(client, box, "retag", reason="new signs", more=more)

    assert "runner.tags." in words(answer)
    assert Runner.objects.get(id=box.id).tags == []


def test_a_revoked_key_is_forgotten_and_a_live_one_is_not(client):
    live, revoked = factories.box(), factories.box()
    queue.revoke(revoked.id, by="user:1", reason="sold")

    act(client, live, "forget", reason="tidy")
    act(client, revoked, "forget", reason="tidy")

    assert list(Runner.objects.values_list("id", flat=True)) == [live.id]


def test_a_runner_is_connected_while_it_was_seen_lately_by_the_database_s_clock(client, clock):
    box = factories.box()
    Runner.objects.filter(id=box.id).update(last_seen_at=Now())
    fresh = words(client.get(f"{RUNNERS}?connected=yes"))

    clock.forward(seconds=121)

    assert box.runner.name in fresh
    assert box.runner.name not in words(client.get(f"{RUNNERS}?connected=yes"))
    assert "not connected" in words(client.get(reverse("admin:runners_runner_change", args=[box.id])))


def test_what_a_machine_says_of_itself_is_text(client):
    box = factories.pending_box(name="<script>alert(1)</script>", problem_types=("<b>x</b>",), tags=("<i>t</i>",))
    Runner.objects.filter(id=box.id).update(machine='{"os":"<img src=x onerror=alert(1)>"}', product="<u>p</u>")

    for address in (RUNNERS, reverse("admin:runners_runner_change", args=[box.id]), f"{RUNNERS}{box.id}/approve/", "/admin/"):
        page = client.get(address).content.decode()
        for evil in ("<script>alert(1)", "<b>x</b>", "<i>t</i>", "<img src=x", "<u>p</u>"):
            assert evil not in page, address


def test_machine_facts_that_are_no_json_are_shown_as_they_are(client):
    box = factories.pending_box()
    Runner.objects.filter(id=box.id).update(machine="[" * 5000)

    assert client.get(reverse("admin:runners_runner_change", args=[box.id])).status_code == 200


def test_a_runner_is_found_by_its_fingerprint_as_it_is_read_aloud(client):
    box, other = factories.pending_box(), factories.pending_box()
    spoken = f"{box.fingerprint[:4]} {box.fingerprint[4:8]}".upper()

    page = words(client.get(RUNNERS, {"q": spoken}))

    assert box.runner.name in page
    assert other.runner.name not in page


def test_a_runner_whose_failures_stand_out_is_suggested_for_a_look(client):
    box = factories.box()
    for _ in range(10):
        factories.submission(factories.work(cap=1))
        claimed = factories.claimed(box)
        queue.report(
            claimed.row.id, queue.Report(infrastructure_failure=True, failure_reason="disk"), token=claimed.row.token, runner=box.id
        )

    page = words(client.get(reverse("admin:runners_runner_change", args=[box.id])))

    assert "Of its last 10 jobs 100 % came to nothing." in page


def test_a_channel_key_is_shown_once_and_noted_without_it(client, admin):
    box = factories.box()

    shown = client.post(f"{RUNNERS}{box.id}/channel-key/", {"reason": "new machine"})
    key = shown.context["secret"].text

    assert key in words(shown)
    assert key not in words(client.get(reverse("admin:runners_runner_change", args=[box.id])))
    assert key not in LogEntry.objects.get(user=admin).change_message
    assert told(client) == []


def test_a_channel_key_in_use_is_replaced_with_a_warning(client):
    box = factories.box()
    queue.replace_channel_key(box.id, by="user:1")

    assert "The key it has now is good no more" in words(client.get(f"{RUNNERS}{box.id}/channel-key/"))


def test_a_runner_that_knows_only_the_channel_is_added_with_its_key(client, admin):
    said = {"reason": "an old client", "name": "Bench 1", "problem_types": "a@1, b@2", "pools": [], "more": "Lab"}

    shown = client.post(f"{RUNNERS}add-for-channel/", said)

    row = Runner.objects.get(name="Bench 1")
    assert (row.state, row.problem_types, row.tags, row.slug) == ("approved", ["a@1", "b@2"], ["lab"], "bench-1")
    assert channel_keys.caller(shown.context["secret"].text, "bench-1").runner == row.id
    assert "an old client" in LogEntry.objects.get(user=admin).change_message


def test_who_may_not_make_keys_is_not_offered_to(staff, client):
    assert "Add a runner for the channel" in words(client.get(RUNNERS))
    assert "Add a runner for the channel" not in words(staff("runners.view_runner").get(RUNNERS))


def test_the_list_says_by_which_transport_since_when(client, clock):
    box = factories.box()
    presence.seen(presence.Bearer(box.runner, 60.0, None), address=None)

    assert "REST since" in words(client.get(RUNNERS))
