"""What the dashboard says of the ledger's audits."""

import pytest
from django.db import connection, transaction

from judging import queue
from judging.audit import Scope, audit, shown
from judging.models import Audit, AuditResult, AuditScope, Lane, Result
from tests import factories
from tests.admin.reading import words

pytestmark = pytest.mark.django_db(transaction=True)
NEVER = "The ledger was never audited: manage.py audit ."
SINCE = "Something was judged since: manage.py audit --since-mark ."
LATE = "No audit has seen what was judged last."


def dashboard(client):
    return words(client.get("/admin/live/"))


def say(verdict):
    """Another verdict in the table than the ledger has."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute("UPDATE judging_result SET verdict = %s", [verdict])


def judge(box):
    factories.submission()
    held = factories.claimed(box)
    queue.report(held.row.id, queue.Report(verdict="Accepted", score=1.0), token=held.row.token, runner=box.id)


def test_an_audit_older_than_the_last_judgement_is_told_with_its_command(client, judged):
    never = dashboard(client)
    audit()
    audited = dashboard(client)
    judge(judged[0])

    assert NEVER in never
    assert SINCE not in audited
    assert "equal." in audited
    assert SINCE in dashboard(client)


def test_a_hand_out_is_no_judgement(client, judged):
    audit()
    factories.submission()
    factories.claimed(judged[0])

    assert SINCE not in dashboard(client)


def test_an_audit_of_one_lane_has_not_seen_the_others(client, judged):
    audit()
    judge(judged[0])
    audit(Scope(AuditScope.LANES, lanes=(Lane.objects.earliest("id").id,)))

    assert SINCE in dashboard(client)


def test_two_missed_audits_are_an_alarm_and_one_is_none(client, judged, clock):
    audit()
    judge(judged[0])
    queue.sweep()
    soon = dashboard(client)
    clock.forward(hours=2, seconds=1)

    assert LATE not in soon
    assert LATE in dashboard(client)


def test_a_divergence_is_red_and_leads_to_the_records_of_its_thread(client, judged):
    say("Wrong answer")
    outcome = audit()
    thread = outcome.divergences[0].place.thread

    page = client.get("/admin/live/").content.decode()
    alarm = next(part for part in page.split("<a ") if "The ledger diverges" in part)

    assert "result.verdict: logged Accepted, found Wrong answer" in words(client.get("/admin/live/"))
    assert "az-red" in alarm
    assert f"/admin/judging/ledgerrecord/?q={thread}" in alarm


def test_a_divergence_stays_red_until_an_audit_of_as_much_finds_it_mended(client, judged):
    say("Wrong answer")
    audit()
    lane = factories.work().lane
    audit(Scope(AuditScope.LANES, lanes=(lane.id,)))
    beside = Audit.objects.latest("id").result
    still = dashboard(client)
    say("Accepted")
    audit()

    assert beside == AuditResult.EQUAL
    assert "The ledger diverges" in still
    assert "The ledger diverges" not in dashboard(client)


def test_a_divergence_in_a_lane_is_mended_by_an_audit_of_that_lane(judged):
    lane = Scope(AuditScope.LANES, lanes=(Result.objects.get().submission.lane_id,))
    say("Wrong answer")
    audit(lane)
    wrong = shown().diverged
    say("Accepted")
    audit(lane)

    assert wrong is not None
    assert shown().diverged is None
