"""Final results: what must be true before they are published, what is kept, and who reads it."""

import hashlib
import io
import json
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, connection, transaction

from contests import publishing
from contests.errors import ResultsMoved, ResultsOpen, ResultsUnproved
from contests.models import Activity, Operator, Organization, Publication
from judging import exclusion, queue, rejudging
from judging.admin.seeing import CHANGED
from judging.audit import Scope, audit
from judging.models import AuditScope, Submission, Thread
from judging.queue import Report
from judging.rejudging import Wanted
from judging.replay.exported import Anchor, read_anchors
from tests import factories
from tests.admin.reading import told, words
from tests.contests.conftest import API, account, logged_in, operator_with, send

pytestmark = pytest.mark.django_db(transaction=True)
RIGHT = Report(verdict="Accepted", score=1.0, max_score=1.0)


@pytest.fixture
def box(contest):
    return factories.box()


@pytest.fixture
def judged(contest, student, box):
    """A submission with a verdict; its id."""
    sent = send(student, contest)["id"]
    judge(box)
    return sent


def judge(box, report=RIGHT):
    held = factories.claimed(box)
    queue.report(held.row.id, report, token=held.row.token, runner=box.id)


def publish(contest):
    return publishing.publish(contest.activity.id, by="user:1", reason="over")


def post(client, contest):
    return client.post(f"/admin/contests/activity/{contest.activity.id}/publish/", {"reason": "over"})


def published(contest):
    return publishing.newest(contest.activity)


def listed(client, contest):
    return client.get(f"{contest.url}/publications").json()["publications"]


def test_nothing_is_published_while_anything_is_open(contest, student, judged):
    send(student, contest)
    audit()

    with pytest.raises(ResultsOpen, match="1 attempt of this activity is still to be judged"):
        publish(contest)

    assert not Publication.objects.exists()


def test_nothing_is_published_before_an_audit_has_seen_the_last_judgement(contest, student, judged, box):
    with pytest.raises(ResultsUnproved, match=r"no audit has seen the last judgement\. Run `manage.py audit --activity SPRING`"):
        publish(contest)
    audit(Scope(AuditScope.LANES, lanes=(contest.assignment.lane_id,)))
    first = publish(contest)
    send(student, contest)
    judge(box)
    with pytest.raises(ResultsUnproved):
        publish(contest)

    assert (first.number, Publication.objects.count()) == (1, 1)


def test_nothing_is_published_of_a_ledger_that_diverges(contest, judged):
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute("UPDATE judging_result SET verdict = 'Wrong answer'")
    audit()

    with pytest.raises(ResultsUnproved, match="the newest audit diverged"):
        publish(contest)


def test_an_installation_may_publish_without_an_audit(contest, judged, settings):
    settings.PUBLISH_PROVED = False

    assert "auditedAt" in json.loads(publish(contest).document)
    assert json.loads(published(contest).document)["auditedAt"] is None


def test_a_publication_holds_what_counts_and_where_the_ledger_stood(contest, judged):
    audit()
    made = publish(contest)

    document, thread = json.loads(made.document), Thread.objects.get()
    [row] = document["results"]
    assert hashlib.sha256(made.document.encode()).hexdigest() == made.sha256
    assert (row["submission"], row["name"], row["problem"], row["verdict"], row["score"]) == (judged, "student", "A", "Accepted", "1.0")
    assert read_anchors(io.StringIO(made.anchor)) == {thread.id: Anchor(thread.n, bytes(thread.tail))}
    assert document["anchor"] == json.loads(made.anchor.splitlines()[-1])["sha256"]


def test_what_was_published_is_never_changed(contest, judged):
    audit()
    publish(contest)

    for act in (lambda: Publication.objects.update(reason="x"), lambda: Publication.objects.all()._raw_delete("default"), truncate):
        with pytest.raises(DatabaseError, match="published results stay as they are"):
            act()


def truncate():
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE contests_publication")


def test_a_rejudge_supersedes_it_and_publishing_again_keeps_the_old(contest, student, judged, box):
    audit()
    old = publish(contest)
    assert publishing.superseded(old) == ""
    queue.rejudge(judged, by="user:1", reason="wrong tests")
    judge(box, Report(verdict="Wrong answer", score=0.0, max_score=1.0))

    after = listed(student, contest)
    audit()
    publish(contest)

    assert [row["superseded"] for row in after] == ["superseded by judgements since"]
    assert [(row["number"], row.get("superseded")) for row in listed(student, contest)] == [(2, None), (1, "superseded by number 2")]
    assert '"Accepted"' in Publication.objects.get(number=1).document


def test_a_rejudging_kept_aside_supersedes_nothing_until_it_is_applied(contest, judged, box):
    audit()
    old = publish(contest)
    batch = rejudging.begin([UUID(judged)], by="user:1", wanted=Wanted(reason="new tests", aside=True))
    queue.work_off()
    judge(box, Report(verdict="Wrong answer", score=0.0, max_score=1.0))
    queue.work_off()
    before = publishing.superseded(old)

    rejudging.apply(batch, by="user:1")

    assert (before, publishing.superseded(old)) == ("", "superseded by judgements since")


def test_an_exclusion_supersedes_it_until_it_counts_again(contest, judged):
    audit()
    made = publish(contest)
    exclusion.exclude(judged, reason="copied")
    excluded = publishing.superseded(made)
    exclusion.include(judged)

    assert (excluded, publishing.superseded(made)) == ("superseded by judgements since", "")


def test_what_the_jury_sent_and_what_was_withdrawn_is_not_in_it(contest, student, judged):
    gone = send(student, contest)["id"]
    queue.delete_submission(UUID(gone), by="user:1", reason="mistake")
    Submission.objects.filter(id=judged).update(author=None)
    audit()

    assert json.loads(publish(contest).document)["results"] == []


def test_participants_read_it_byte_for_byte_and_nobody_else_does(contest, student, judged):
    audit()
    made = publish(contest)
    answer = student.get(f"{contest.url}/publications/1")
    stranger = logged_in(account("stranger"))

    assert hashlib.sha256(answer.content).hexdigest() == made.sha256
    assert stranger.get(f"{contest.url}/publications/1").status_code == 404
    assert stranger.get(f"{contest.url}/publications").status_code == 404
    assert student.get(f"{contest.url}/publications/2").status_code == 404
    assert student.get(f"{API}/activities/nothing/publications").status_code == 404


def test_an_operator_publishes_in_the_admin_and_downloads_it(contest, admin, judged):
    dialog = words(admin.get(f"/admin/contests/activity/{contest.activity.id}/publish/"))
    post(admin, contest)
    refused = told(admin)
    audit()
    post(admin, contest)

    made = published(contest)
    page = words(admin.get(f"/admin/contests/publication/{made.id}/change/"))
    assert "1 submission with a result, 0 without." in dialog
    assert "run manage.py audit --activity SPRING first" in dialog
    assert "no audit has seen the last judgement" in refused[0]
    assert made.sha256 in page
    assert " by admin Reason" in page
    assert "counts" in page
    assert admin.get(f"/admin/contests/publication/{made.id}/results.json").content == made.document.encode()
    assert admin.get(f"/admin/contests/publication/{made.id}/results.anchor").content == made.anchor.encode()
    assert "number 1" in words(admin.get(f"/admin/contests/activity/{contest.activity.id}/change/"))


def test_results_that_changed_since_they_were_shown_are_not_published(contest, admin, judged):
    audit()
    dialog = f"/admin/contests/activity/{contest.activity.id}/publish/"
    seen = admin.get(dialog).context["form"]["seen"].value()
    exclusion.exclude(Submission.objects.get().id, reason="copied")

    refused = admin.post(dialog, {"reason": "over", "seen": seen})
    assert CHANGED in words(refused)
    with pytest.raises(ResultsMoved):
        publishing.publish(contest.activity.id, by="user:1", reason="over", seen=seen)
    assert not Publication.objects.exists()

    admin.post(dialog, {"reason": "over", "seen": refused.context["form"]["seen"].value()})
    assert published(contest).number == 1


def test_only_who_may_publish_publishes(contest, judged):
    audit()
    onlooker = operator_with("contests.view_activity", "contests.view_publication")

    assert post(onlooker, contest).status_code == 403
    assert not Publication.objects.exists()


def test_another_organization_s_publication_is_not_found(contest, judged):
    audit()
    made = publish(contest)
    Activity.objects.filter(id=contest.activity.id).update(organization=Organization.objects.create(slug="other", name="Other"))
    steward = operator_with("contests.view_publication", "contests.view_activity")
    steward_of(steward, "elsewhere")

    assert steward.get(f"/admin/contests/publication/{made.id}/results.json").status_code == 404
    assert steward.get(f"{contest.url}/publications").status_code == 404


def steward_of(client, slug):
    organization = Organization.objects.create(slug=slug, name=slug)
    Operator.objects.create(user=User.objects.get(username="steward"), organization=organization)
