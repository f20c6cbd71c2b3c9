"""Hurried and hostile operators: what changed while a dialog was open, posts that no page of ours makes, two at once."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib import admin as admins
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.urls import reverse

from contests import roster
from contests.errors import RosterMoved
from contests.models import Activity, Participant
from judging import queue, rejudging
from judging.admin.seeing import CHANGED
from judging.models import Job, Rejudging
from judging.queue import Report
from tests import factories
from tests.admin.reading import told, words

pytestmark = pytest.mark.django_db(transaction=True)
JOBS = "/admin/judging/job/"
LISTED = "/admin/judging/submission/rejudge-listed/"
AGAIN = {"reason": "the tests were wrong", "mode": "ordinary", "repeats": "1"}


@pytest.fixture
def activity(db):
    return Activity.objects.create(slug="finals", title="Finals")


def judge(box, verdict):
    job = factories.claimed(box)
    queue.report(job.row.id, Report(verdict=verdict, score=1.0), token=job.row.token, runner=box.id)
    return job.row


def tick(client, rows, act="cancel_many", query="", **said):
    ticked = {"action": act, "_selected_action": [str(row) for row in rows], "reason": "mistaken"}
    return client.post(f"{JOBS}?{query}", ticked | said)


def take_in(client, activity, table="", **said):
    return client.post(f"/admin/contests/activity/{activity.id}/take-in/", {"reason": "it is closed", "table": table} | said)


def hidden(answer):
    """What the dialog's form carries unseen."""
    return answer.context["form"]["seen"].value()


def test_what_left_the_list_meanwhile_is_told_before_the_others_are_touched(client):
    for _ in range(3):
        factories.submission()
    jobs = list(Job.objects.values_list("id", flat=True))
    tick(client, jobs, query="state=queued")
    held = factories.claimed(factories.box()).row

    asked = tick(client, jobs, query="state=queued", confirmed="1")
    assert "1 of those you ticked changed and left the list" in words(asked)
    assert not Job.objects.filter(state="cancelled").exists()

    tick(client, [row.pk for row in asked.context["rows"]], query="state=queued", confirmed="1")
    assert Job.objects.filter(state="cancelled").count() == 2
    assert Job.objects.get(id=held.id).state == "running"


@pytest.mark.parametrize("tick_", ["abc", "\x00", "1", "", "00000000-0000-0000-0000-00000000000g"])
def test_a_tick_that_is_no_key_is_a_bad_request_on_every_page(client, tick_):
    for model, page in admins.site._registry.items():
        if page.get_actions(type("Asked", (), {"user": User.objects.get(username="root"), "GET": {}})()):
            address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
            answer = client.post(address, {"action": "x", "_selected_action": [tick_]})
            assert answer.status_code in {400, 302}, address
            assert answer.status_code == 400 or tick_ == "1", address


def test_all_pages_at_once_are_acted_on_by_no_post(client):
    factories.submission()
    job = Job.objects.get()

    assert tick(client, [job.id], confirmed="1", select_across="1").status_code == 400
    assert Job.objects.get().state == "queued"


def test_an_autocomplete_of_what_no_name_holds_is_a_bad_request(client):
    asked = {"term": "a\x00", "app_label": "contests", "model_name": "participant", "field_name": "user"}

    assert client.get("/admin/autocomplete/", asked).status_code == 400


def test_the_link_to_a_rejudging_that_began_is_a_link(client):
    factories.submission()

    tick(client, [Job.objects.get().id], "rejudge_many", confirmed="1", **AGAIN)

    page = client.get("/admin/password_change/").content.decode()
    assert f'href="{reverse("admin:judging_rejudging_change", args=[Rejudging.objects.get().id])}"' in page


def test_as_many_others_are_not_what_was_seen(client):
    box = factories.box()
    factories.submission()
    judge(box, "Accepted")
    seen = client.get(LISTED).context["seen"]
    queue.rejudge(Job.objects.get().submission_id, by="user:1", reason="once more", urgent=False)
    judge(box, "Wrong answer")
    factories.submission()
    judge(box, "Accepted")

    changed = client.post(f"{LISTED}?verdict=Accepted", AGAIN | {"counted": seen})

    assert words(changed).count("1 submission chosen") == 1
    assert "look again" in words(changed)
    assert not Rejudging.objects.exists()


@pytest.fixture
def aside(client):
    """A rejudging whose results are kept aside, and how its one submission is judged."""
    box = factories.box()
    factories.submission()
    old = judge(box, "Wrong answer")
    wanted = rejudging.Wanted(reason="new tests", aside=True)
    batch = Rejudging.objects.get(id=rejudging.begin([old.submission], by="user:1", wanted=wanted))
    queue.work_off()
    queue.work_off()
    batch.refresh_from_db()
    return batch, old, lambda verdict: judge(box, verdict)


def test_results_that_changed_since_they_were_shown_are_shown_again(client, aside):
    batch, _, judge_again = aside
    apply = f"/admin/judging/rejudging/{batch.id}/apply/"
    seen = hidden(client.get(apply))
    judge_again("Accepted")

    refused = client.post(apply, {"reason": "right", "password": "secret", "seen": seen})
    batch.refresh_from_db()
    assert CHANGED in words(refused)
    assert "1: Wrong answer → Accepted" in words(refused)
    assert batch.state == "open"

    client.post(apply, {"reason": "right", "password": "secret", "seen": hidden(refused)})
    assert told(client) == ["The results of 1 submission count now."]


def test_a_later_attempt_counts_and_is_not_promised_another_verdict(client, aside):
    batch, old, judge_again = aside
    judge_again("Accepted")
    queue.rejudge(old.submission, by="user:1", reason="once more", urgent=False)
    judge_again("Run-time error")

    found = rejudging.compare(batch)
    asked = words(client.get(f"/admin/judging/rejudging/{batch.id}/apply/"))
    shown = words(client.get(reverse("admin:judging_rejudging_change", args=[batch.id])))
    applied = rejudging.apply(batch.id, by="user:1")

    assert (found.matrix, found.overtaken, applied) == ({}, 1, 0)
    assert "1 was judged once more since, which counts instead." in asked
    assert "that later result counts" in shown


def test_each_submission_is_overtaken_by_its_own_attempts_alone(client):
    box = factories.box()
    often, once = factories.submission().submission, factories.submission().submission
    for _ in range(2):
        judge(box, "Wrong answer")
    for _ in range(3):
        queue.rejudge(often, by="user:1", reason="once more", urgent=False)
        judge(box, "Wrong answer")
    batch = rejudging.begin([often, once], by="user:1", wanted=rejudging.Wanted(reason="new tests", aside=True))
    queue.work_off()
    queue.work_off()
    for _ in range(2):
        judge(box, "Accepted")
    queue.rejudge(once, by="user:1", reason="once more", urgent=False)
    judge(box, "Accepted")

    found = rejudging.compare(Rejudging.objects.get(id=batch))

    assert (found.matrix, found.overtaken) == ({("Wrong answer", "Accepted"): 1}, 1)
    assert rejudging.apply(batch, by="user:1") == 1


def test_a_table_is_taken_in_as_it_was_shown_and_no_other(client, activity):
    shown = take_in(client, activity, "ada,Ada", seen="")
    other = take_in(client, activity, "ada,Ada\ngrace,Grace", seen=hidden(shown), sure="on")
    assert "Look at the lines above" in words(other)
    assert not Participant.objects.exists()

    take_in(client, activity, "ada,Ada\ngrace,Grace", seen=hidden(other), sure="on")
    assert told(client) == ["2 participants joined Finals."]


@pytest.mark.parametrize("table", ["\uff41\uff44\uff41,Ada\nada,Another", "ada,Ada\nad\N{FEMININE ORDINAL INDICATOR},Another"])
def test_two_spellings_of_one_account_are_one(client, activity, table):
    assert "comes more than once" in words(take_in(client, activity, table, sure="on"))
    assert not Participant.objects.exists()


def test_another_spelling_of_an_operator_s_name_is_the_operator_s(client, activity):
    assert "an operator's account" in words(take_in(client, activity, "\uff52\uff4f\uff4f\uff54,Root", sure="on"))


def test_an_open_quote_swallows_no_line_that_follows(client, activity):
    page = words(take_in(client, activity, 'ada,"Ada\ngrace,Grace\nalan,Alan'))

    assert "a quote that does not end" in page
    assert "1 of 3 lines cannot be taken in" in page


@pytest.mark.parametrize(
    ("raw", "fault"),
    [
        (b"a\x00da,Ada", "a control character"),
        ("a\x00da,Ada".encode("utf-16"), "a control character"),
        ("ada,A\u202eda".encode(), "a control character"),
        (b'ada,"' + b"x" * 200_000 + b'"', "a quote that does not end"),
        (b"ada," + b"x" * 200_000, "more than 200 characters"),
        (b"\n".join(b"team%d,T" % n for n in range(100_000)), "At most"),
        (b"\n".join(b"team%d,T,analytical-%d" % (n, n) for n in range(300)), "more than 250 passwords"),
    ],
    ids=["nul", "nul in utf-16", "bidi", "endless cell", "long name", "100,000 rows", "hashing"],
)
def test_a_hostile_file_is_told_by_its_faults(client, activity, raw, fault):
    answer = take_in(client, activity, sure="on", file=SimpleUploadedFile("teams.csv", raw))

    assert answer.status_code == 200
    assert fault in words(answer)
    assert not Participant.objects.exists()


def test_two_operators_who_take_in_one_table_at_once_make_its_accounts_once(activity, monkeypatch):
    met = threading.Barrier(2, timeout=20)
    place = roster._place

    def together(*given):
        met.wait()
        return place(*given)

    monkeypatch.setattr(roster, "_place", together)

    def one(_):
        try:
            return roster.take_in(activity.id, roster.read("ada,Ada,analytical-engine"))
        except RosterMoved:
            return "moved"
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        said = set(pool.map(one, range(2)))

    assert said == {1, "moved"}
    assert User.objects.get().check_password("analytical-engine")
    assert Participant.objects.count() == 1
