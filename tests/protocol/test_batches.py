"""Batch calls: each item behaves as its single call, and none fails the rest (runner-protocol §2)."""

from datetime import datetime
from uuid import uuid4

import pytest

from judging.models import Job
from tests import factories
from tests.protocol.conftest import refused

LEASES, RELEASES = "runner/jobs/leases", "runner/jobs/releases"


def named(job: dict, **other: object) -> dict:
    return {"jobId": job["jobId"], "leaseToken": job["leaseToken"], **other}


@pytest.fixture
def jobs(api) -> list[dict]:
    """Three jobs the first box holds."""
    work = factories.work()
    for _ in range(3):
        factories.submission(work)
    return [api.claim(leaseSeconds=60) for _ in range(3)]


@pytest.mark.parametrize("path", [LEASES, RELEASES])
def test_an_empty_list_is_a_probe(api, path):
    assert api.post(path, {"jobs": []}).json() == {"results": []}


def test_leases_are_renewed_each(api, jobs, clock):
    answer = api.post(LEASES, {"leaseSeconds": 3600, "jobs": [named(job) for job in jobs]}).json()

    assert [item["jobId"] for item in answer["results"]] == [job["jobId"] for job in jobs]
    for item in answer["results"]:
        assert 3590 < (datetime.fromisoformat(item["leaseExpiresAt"]) - clock.now()).total_seconds() <= 3600


def test_jobs_are_released_each(api, jobs):
    answer = api.post(RELEASES, {"jobs": [named(job) for job in jobs]}).json()

    assert answer == {"results": [{"jobId": job["jobId"]} for job in jobs]}
    assert set(Job.objects.values_list("state", flat=True)) == {"queued"}


@pytest.mark.parametrize("path", [LEASES, RELEASES])
def test_a_bad_item_never_fails_the_rest(api, api_2, jobs, path):
    factories.submission()
    foreign = api_2.claim()
    stranger = str(uuid4())
    bad = [
        (named(foreign), foreign["jobId"], "runner.lease.foreign"),
        (named(jobs[1], leaseToken=str(uuid4())), jobs[1]["jobId"], "runner.lease.stale"),
        (named(jobs[2], leaseToken="nonsense"), jobs[2]["jobId"], "runner.lease.stale"),
        ({"jobId": stranger, "leaseToken": stranger}, stranger, "not_found"),
        ({"jobId": "nonsense", "leaseToken": stranger}, "nonsense", "not_found"),
        ({"jobId": "\x00\ud800", "leaseToken": stranger}, "\ufffd\ufffd", "not_found"),
        ({"jobId": "no token"}, "no token", "malformed_request"),
        ({"jobId": "odd token", "leaseToken": 5}, "odd token", "malformed_request"),
        ("nonsense", "", "malformed_request"),
    ]

    answer = api.post(path, {"jobs": [*(item for item, _, _ in bad), named(jobs[0])]}).json()["results"]

    assert answer[:-1] == [{"jobId": name, "code": code} for _, name, code in bad]
    assert answer[-1]["jobId"] == jobs[0]["jobId"]
    assert "code" not in answer[-1]


@pytest.mark.parametrize("path", [LEASES, RELEASES])
def test_a_repeated_id_is_answered_once(api, jobs, path):
    items = [
        named(jobs[0]),
        named(jobs[0]),
        named(jobs[0], leaseToken="x"),
        {**named(jobs[0]), "jobId": jobs[0]["jobId"].upper()},
    ]

    answer = api.post(path, {"jobs": items}).json()["results"]

    assert [item["jobId"] for item in answer] == [jobs[0]["jobId"]]
    assert "code" not in answer[0]


@pytest.mark.parametrize("path", [LEASES, RELEASES])
@pytest.mark.parametrize(("count", "status"), [(512, 200), (513, 422)])
def test_a_batch_has_at_most_512_items(api, path, count, status):
    answer = api.post(path, {"jobs": [5] * count})

    assert answer.status_code == status
    if status == 422:
        refused(answer, 422, "runner.batch.size")


@pytest.mark.parametrize("path", [LEASES, RELEASES])
@pytest.mark.parametrize("document", [{}, {"jobs": None}, {"jobs": {}}, {"jobs": "x"}, {"jobs": 5}])
def test_a_batch_needs_its_list(api, path, document):
    problem = refused(api.post(path, document), 400, "malformed_request")

    assert problem["errors"].keys() == {"jobs"}


def test_a_batch_for_no_number_of_seconds_is_malformed(api):
    refused(api.post(LEASES, {"jobs": [], "leaseSeconds": "600"}), 400, "malformed_request")
