"""The claim: what it answers, what it clamps, and what it tells the front (seed 000, runner-protocol §4)."""

import re
from datetime import datetime, timedelta

import pytest

from judging import queue
from judging.models import Job, Maintenance
from judging.wake import Fits, Look
from tests import factories
from tests.protocol.conftest import refused

INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


def granted(job: dict) -> float:
    row = Job.objects.get(id=job["jobId"])
    until = datetime.fromisoformat(job["leaseExpiresAt"])
    assert row.claimed_at is not None
    return (until - row.claimed_at).total_seconds()


def looked(api, **asked) -> tuple[int, Look]:
    """A claim as the front makes it: its status, and what the view told the front."""
    import json

    look = Look()
    answer = api.client.generic(
        "POST",
        "/api/v1/runner/jobs/claim",
        json.dumps(asked).encode(),
        headers=api.box.bearer,
        **{"asgi.scope": {"assize.look": look}},
    )
    return answer.status_code, look


def test_a_claimed_job_is_exactly_the_seeds_document(api):
    config = '{"type":"standard-io@1","limits":{"timeMs":1000}}'
    package = factories.package(b"PK")
    odd = '{"n":1e999,"long":' + "9" * 4000 + "}"
    work = factories.work(config=config, version_props=odd, package=package)
    source = factories.stored_file(b"print(1)\n")
    receipt = factories.submission(work, source=source, props='{"language":"python3"}')

    answer = api.post("runner/jobs/claim", {"leaseSeconds": 600})

    row = Job.objects.get()
    body = answer.content.decode()
    assert answer["Content-Type"] == "application/json"
    assert f'"config":{config}' in body
    assert '"problemVersionProps":{"n":1e999,"long":9999' in body
    job = answer.json()
    assert list(job) == [
        *("jobId", "submissionId", "attempt", "leaseToken", "leaseExpiresAt", "problemType", "problemVersionId"),
        *("packageFileId", "packageSha256", "files", "props", "problemVersionProps", "config"),
    ]
    assert job["jobId"] == str(receipt.job)
    assert job["submissionId"] == str(receipt.submission)
    assert (job["attempt"], job["leaseToken"]) == (1, str(row.token))
    assert INSTANT.fullmatch(job["leaseExpiresAt"])
    assert (job["packageFileId"], job["packageSha256"]) == (str(package.id), package.sha256)
    assert job["files"] == [{"name": "source", "fileName": "main.py", "fileId": str(source.id), "sha256": source.sha256, "sizeBytes": 9}]
    assert job["props"] == {"language": "python3"}


def test_what_there_is_none_of_is_left_out_but_a_package_is_empty(api):
    factories.submission()

    job = api.claim()

    assert (job["packageFileId"], job["packageSha256"]) == ("", "")
    assert not {"props", "problemVersionProps", "config", "outsideId"} & job.keys()


def test_an_instant_on_the_full_second_still_has_six_digits(api, monkeypatch):
    from judging.records import instant

    assert instant(datetime.fromisoformat("2026-11-30T08:15:30+00:00")) == "2026-11-30T08:15:30.000000Z"


@pytest.mark.parametrize("content_type", ["", "application/json", "text/plain", "nonsense", "multipart/form-data"])
def test_an_empty_claim_takes_a_job_whatever_its_content_type(api, content_type):
    for body in (b"", b"{}", b" { } ", b'{"leaseSeconds":null,"waitSeconds":null}', b'{"unknown":[1]}'):
        factories.submission()

        assert api.send("POST", "runner/jobs/claim", body, content_type=content_type).status_code == 200


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        ("null", 600),
        ("600", 600),
        ("59.999", 60),
        ("60", 60),
        ("60.9", 60),
        ("3600", 3600),
        ("3601", 3600),
        ("0", 60),
        ("-1", 60),
        ("-1e999", 60),
        ("1e999", 3600),
        ("9" * 5000, 3600),
        ("1e-400", 60),
        ("-0.0", 60),
    ],
)
def test_the_lease_is_clamped_never_refused(api, asked, seconds):
    factories.submission()

    answer = api.send("POST", "runner/jobs/claim", f'{{"leaseSeconds":{asked}}}'.encode())

    assert answer.status_code == 200
    assert granted(answer.json()) == seconds


@pytest.mark.parametrize("member", ["leaseSeconds", "waitSeconds"])
@pytest.mark.parametrize("value", ['"600"', "true", "[]", "{}"])
def test_what_is_no_number_is_a_malformed_request(api, member, value):
    factories.submission()

    problem = refused(api.send("POST", "runner/jobs/claim", f'{{"{member}":{value}}}'.encode()), 400, "malformed_request")

    assert problem["errors"].keys() == {member}
    assert Job.objects.get().state == "queued"


def test_an_empty_queue_is_204_without_a_body(api):
    answer = api.post("runner/jobs/claim", {})

    assert (answer.status_code, answer.content) == (204, b"")
    assert "Content-Type" not in answer


@pytest.mark.parametrize(
    ("work", "runner"),
    [
        ({"problem_type": "other@1"}, {}),
        ({"problem_type": "Standard-IO@1"}, {}),
        ({"external": True}, {}),
        ({"pools": ("finals",)}, {}),
        ({}, {"tags": ("finals",)}),
        ({}, {"problem_types": ()}),
    ],
)
def test_work_for_others_is_not_offered(nobody, work, runner):
    factories.submission(factories.work(**work))

    assert nobody.by(factories.box(**runner)).post("runner/jobs/claim").status_code == 204


def test_an_external_runner_needs_the_switch(nobody):
    factories.submission(factories.work(external=True))
    api = nobody.by(factories.box(external=True))

    assert api.post("runner/jobs/claim").status_code == 204
    queue.switch_external(True)
    assert api.post("runner/jobs/claim").status_code == 200


def test_two_claims_take_two_jobs_and_a_third_takes_none(api, api_2):
    first, second = factories.submission(), factories.submission()

    assert [api.claim()["jobId"], api_2.claim()["jobId"]] == [str(first.job), str(second.job)]
    assert api.post("runner/jobs/claim").status_code == 204


def test_a_sibling_waits_for_the_attempt_that_is_being_judged(api, api_2):
    receipt = factories.submission()
    running = api.claim()
    queue.rejudge(receipt.submission, by="user:1", reason="the data changed")

    assert api_2.post("runner/jobs/claim").status_code == 204
    api.about(running, "report", verdict="Accepted")
    assert api_2.claim()["attempt"] == 2


def test_a_claim_for_want_of_work_tells_the_front_what_would_fit(nobody):
    api = nobody.by(factories.box(problem_types=("a@1", "b@1"), tags=("hall-1",)))

    status, look = looked(api, waitSeconds=25)

    assert status == 204
    assert look.fits == Fits(frozenset({"a@1", "b@1"}), False, frozenset({"hall-1"}))
    assert (look.runner, look.wait_seconds, look.handout) == (api.box.id, 25, None)
    assert 12 * 3600 - 60 < (look.until or 0) <= 12 * 3600


def test_a_runner_without_tags_waits_in_the_default_pool(api):
    _, look = looked(api, waitSeconds=25)

    assert look.fits is not None
    assert look.fits.pools == {"default"}


@pytest.mark.parametrize(("asked", "seconds"), [(0, 0), (-5, 0), (0.5, 0.5), (300, 300), (301, 300), (10**400, 300), (None, None)])
def test_the_wait_is_clamped_never_refused(api, asked, seconds):
    assert looked(api, waitSeconds=asked)[1].wait_seconds == seconds


def test_an_answer_with_a_job_tells_the_front_what_to_undo(api):
    receipt = factories.submission()

    status, look = looked(api, waitSeconds=25)

    assert status == 200
    assert look.handout == (receipt.job, Job.objects.get().token)
    assert look.fits is None


def test_a_drain_is_a_final_answer(api):
    queue.switch_maintenance(Maintenance.DRAINING)

    status, look = looked(api, waitSeconds=25)

    assert (status, look.fits) == (204, None)


def test_a_wait_of_a_revoked_runner_ends_with_403(api, box):
    queue.revoke(box.id, by="user:1", reason="stolen")

    status, look = looked(api, waitSeconds=25)

    assert (status, look.fits) == (403, None)


def test_a_claim_costs_few_statements(api, django_assert_max_num_queries):
    factories.submission(factories.work(package=factories.package()))
    api.post("runner/heartbeat")

    with django_assert_max_num_queries(8):
        api.claim()


def test_a_lapsed_lease_is_recovered_by_the_next_claim(api, api_2, clock):
    factories.submission()
    lost = api.claim(leaseSeconds=60)
    clock.forward(seconds=61)

    found = api_2.claim()

    assert found["jobId"] == lost["jobId"]
    assert found["attempt"] == 1
    assert found["leaseToken"] != lost["leaseToken"]
    refused(api.about(lost, "lease"), 403, "runner.lease.stale")


def test_an_admitted_job_is_handed_out_with_its_outside_id(nobody):
    queue.switch_external(True)
    api = nobody.by(factories.box(external=True))
    factories.submission(factories.work(external=True))
    job = api.claim()

    assert api.about(job, "progress", outsideId="run 4711").status_code == 204
    api.about(job, "release")

    assert api.claim()["outsideId"] == "run 4711"


def test_the_deadline_is_the_databases(api, clock):
    factories.submission()
    clock.forward(hours=10)

    job = api.claim(leaseSeconds=60)

    assert datetime.fromisoformat(job["leaseExpiresAt"]) - clock.now() < timedelta(seconds=61)
