"""Calls that the gate refuses go on record: what was asked, under which lease, why (ledger.md §1)."""

from uuid import uuid4

import pytest

from judging import queue
from judging.audit.telling import story
from judging.errors import LeaseForeign, LeaseMalformed, LeaseStale, NotFound, StorageBusy
from judging.hold import hold_job
from judging.models import Job, LedgerRecord
from judging.refused import MOST_PER_LEASE
from tests.ledger.conftest import equal
from tests.queue.conftest import ACCEPTED, BROKEN, WRONG, claimed, release, renew, report


def noted() -> list[tuple]:
    rows = LedgerRecord.objects.filter(type="refused").order_by("id")
    return [(row.actor, row.data["asked"], row.data["token"], row.data["why"]) for row in rows]


@pytest.fixture
def stale(hall, box_1, box_2):
    """A delivery that was lost, and the one that took its place."""
    hall.submit()
    old = claimed(box_1)
    release(old)
    return old, claimed(box_2)


def test_a_report_that_came_too_late_is_on_record_with_the_verdict_it_brought(stale):
    old, new = stale
    report(new, WRONG)
    with pytest.raises(LeaseStale):
        report(old, ACCEPTED)

    assert noted() == [(f"runner:{old.row.runner}", "report", str(old.row.token), "runner.lease.stale")]
    assert LedgerRecord.objects.get(type="refused").data["verdict"] == "Accepted"
    assert Job.objects.get(id=old.row.id).result.verdict == "Wrong answer"
    told = f"Refused its report with 'Accepted' under lease {old.row.token}: it no longer held the job under this lease."
    assert any(told in line for line in story(old.row.id))
    equal()


def test_every_call_that_names_a_lease_is_on_record_under_its_own_name(stale):
    old, _ = stale
    key = {"token": old.row.token, "runner": old.row.runner}
    for call in (
        lambda: renew(old),
        lambda: queue.progress(old.row.id, **key),
        lambda: queue.attach(old.row.id, **key, file=None, name="log"),
        lambda: release(old),
        lambda: report(old, BROKEN),
    ):
        with pytest.raises(LeaseStale):
            call()

    assert [row[1] for row in noted()] == ["renew", "progress", "attach", "release", "report"]
    equal()


def test_another_runners_lease_is_on_record_as_foreign(hall, box_1, box_2):
    hall.submit()
    held = claimed(box_1)
    with pytest.raises(LeaseForeign):
        report(held, runner=box_2)

    assert noted() == [(f"runner:{box_2}", "report", str(held.row.token), "runner.lease.foreign")]
    assert renew(held).token == held.row.token
    equal()


def test_what_is_refused_changes_nothing_but_the_ledger(stale):
    old, new = stale
    before = Job.objects.get(id=new.row.id)
    with pytest.raises(LeaseStale):
        report(old)
    after = Job.objects.get(id=new.row.id)

    assert after.n == before.n + 1
    assert {name: getattr(after, name) for name in new.row._fields} == {name: getattr(before, name) for name in new.row._fields}


def test_a_runner_that_insists_is_on_record_a_few_times_and_no_more(stale):
    old, _ = stale
    for _ in range(MOST_PER_LEASE + 3):
        with pytest.raises(LeaseStale):
            renew(old)

    assert len(noted()) == MOST_PER_LEASE


def test_a_stranger_cannot_use_up_what_is_kept_for_the_holder(stale, hall):
    old, _ = stale
    stranger = hall.runner("stranger")
    for _ in range(MOST_PER_LEASE):
        with pytest.raises(LeaseStale):
            report(old, runner=stranger)
    with pytest.raises(LeaseStale):
        report(old)

    assert noted()[-1][0] == f"runner:{old.row.runner}"


def test_a_token_that_nobody_was_given_writes_nothing(stale):
    _, new = stale
    for call in (
        lambda: queue.report(new.row.id, ACCEPTED, token=uuid4(), runner=new.row.runner),
        lambda: queue.renew(new.row.id, token=uuid4(), runner=new.row.runner),
        lambda: queue.renew(new.row.id, token=None, runner=new.row.runner),
    ):
        with pytest.raises(LeaseStale):
            call()
    with pytest.raises(LeaseMalformed):
        queue.report(new.row.id, ACCEPTED, token=None, runner=new.row.runner)
    with pytest.raises(NotFound):
        queue.renew(uuid4(), token=new.row.token, runner=new.row.runner)

    assert noted() == []


def test_the_token_of_another_job_writes_nothing(stale, hall, box_1):
    _, new = stale
    hall.submit()
    other = claimed(box_1)
    with pytest.raises(LeaseStale):
        queue.renew(new.row.id, token=other.row.token, runner=box_1)

    assert noted() == []


def test_the_caller_hears_of_its_lease_even_when_the_record_cannot_be_written(stale, monkeypatch):
    old, _ = stale
    calls = []

    def hold(job):
        calls.append(job)
        if len(calls) > 1:
            raise StorageBusy
        return hold_job(job)

    monkeypatch.setattr("judging.refused.hold_job", hold)
    with pytest.raises(LeaseStale):
        renew(old)

    assert (len(calls), noted()) == (2, [])
