"""Holding a job and giving it back: the one gate, renewing, releasing, and the hand-out arithmetic (§5 and §6)."""

from datetime import datetime
from uuid import uuid4

import pytest

from judging import queue
from judging.models import Job
from tests import factories
from tests.protocol.conftest import refused

VERBS = {"lease": 200, "progress": 204, "release": 204, "files": 204, "report": 200}


def more(api, verb: str) -> dict:
    """What a call needs beside its token."""
    if verb == "files":
        return {"fileId": api.upload().json()["id"], "name": "log"}
    return {"verdict": "Accepted"} if verb == "report" else {}


def stored(job: dict) -> Job:
    return Job.objects.get(id=job["jobId"])


def standing(job: dict) -> tuple[object, ...]:
    row = stored(job)
    return row.state, row.fence, row.deliveries, row.token, row.reason


@pytest.fixture
def job(api) -> dict:
    """A job the first box holds."""
    factories.submission()
    return api.claim(leaseSeconds=60)


@pytest.mark.parametrize(("verb", "status"), VERBS.items())
def test_the_holder_may(api, job, verb, status):
    assert api.about(job, verb, **more(api, verb)).status_code == status


@pytest.mark.parametrize("path_id", [str(uuid4()), "nonsense", "0", "%00", "%F0%9F%98%80", "{}", "a" * 3000, "0" * 32])
def test_an_id_nobody_issued_is_not_found(api, path_id):
    for verb in VERBS:
        answer = api.post(f"runner/jobs/{path_id}/{verb}", {"leaseToken": "nonsense", **more(api, verb)})

        refused(answer, 404, "not_found")


@pytest.mark.parametrize("token", [str(uuid4()), "", "nonsense", "\x00", "\ud800", "9" * 5000])
def test_another_token_is_stale_and_a_report_names_one_that_cannot_be_a_token(api, job, token):
    for verb in VERBS:
        answer = api.post(f"runner/jobs/{job['jobId']}/{verb}", {**more(api, verb), "leaseToken": token})

        malformed = verb == "report" and len(token) != 36
        refused(answer, *((422, "runner.lease.malformed") if malformed else (403, "runner.lease.stale")))


@pytest.mark.parametrize("token", [None, 5, True, [], {}, "absent"])
def test_a_missing_or_ill_typed_token_is_a_malformed_request(api, job, token):
    for verb in VERBS:
        sent = more(api, verb) | ({} if token == "absent" else {"leaseToken": token})

        problem = refused(api.post(f"runner/jobs/{job['jobId']}/{verb}", sent), 400, "malformed_request")

        assert problem["errors"].keys() == {"leaseToken"}


def test_a_leaked_token_is_foreign(api_2, job):
    for verb in VERBS:
        refused(api_2.about(job, verb, **more(api_2, verb)), 403, "runner.lease.foreign")


@pytest.mark.parametrize("end", ["released", "cancelled", "lapsed", "given back"])
def test_a_late_holder_is_stale_and_changes_nothing(api, job, clock, end):
    if end == "released":
        api.about(job, "release")
    elif end == "cancelled":
        queue.cancel(stored(job).id, by="user:1", reason="wrong data")
    elif end == "lapsed":
        clock.forward(seconds=61)
        queue.sweep()
    else:
        queue.give_back(stored(job).id, by="user:1", reason="stuck")
    before = standing(job)

    for verb in VERBS:
        refused(api.about(job, verb, **more(api, verb)), 403, "runner.lease.stale")

    assert standing(job) == before


@pytest.mark.parametrize("verb", ["lease", "progress", "files", "report"])
def test_a_lapsed_lease_that_nobody_took_still_serves_its_holder(api, job, clock, verb):
    clock.forward(seconds=3000)

    assert api.about(job, verb, **more(api, verb)).status_code == VERBS[verb]


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        ({}, 60),
        ({"leaseSeconds": 600}, 600),
        ({"leaseSeconds": 1}, 60),
        ({"leaseSeconds": 10**400}, 3600),
        ({"leaseSeconds": -1}, 60),
    ],
)
def test_a_renewal_moves_the_deadline_to_now_and_the_clamped_length(api, job, clock, asked, seconds):
    clock.forward(seconds=30)

    renewed = api.about(job, "lease", **asked).json()

    assert {"jobId": renewed["jobId"], "leaseToken": renewed["leaseToken"]} == {k: job[k] for k in ("jobId", "leaseToken")}
    left = datetime.fromisoformat(renewed["leaseExpiresAt"]) - clock.now()
    assert seconds - 5 < left.total_seconds() <= seconds


def test_a_renewal_never_shortens(api, job):
    longer = api.about(job, "lease", leaseSeconds=3600).json()

    assert api.about(job, "lease", leaseSeconds=60).json()["leaseExpiresAt"] == longer["leaseExpiresAt"]
    api.about(job, "progress")
    assert stored(job).lease_until == datetime.fromisoformat(longer["leaseExpiresAt"])


@pytest.mark.parametrize("value", ['"600"', "true", "[]"])
def test_a_renewal_for_no_number_is_malformed(api, job, value):
    body = f'{{"leaseToken":"{job["leaseToken"]}","leaseSeconds":{value}}}'.encode()

    refused(api.send("POST", f"runner/jobs/{job['jobId']}/lease", body), 400, "malformed_request")


@pytest.mark.parametrize("outside", ["x" * 201, " "])
def test_an_outside_id_has_its_bounds(api, job, outside):
    refused(api.about(job, "progress", outsideId=outside), 400, "malformed_request")


def test_work_handed_over_twice_is_refused(api, job):
    api.about(job, "progress", outsideId="run 1")

    refused(api.about(job, "progress", outsideId="run 2"), 409, "job.admitted")


def test_the_eighth_release_fails_the_job(api):
    factories.submission()

    counts = []
    for _ in range(8):
        job = api.claim()
        counts.append(stored(job).deliveries)
        assert api.about(job, "release").status_code == 204

    assert counts == [1, 1, 1, 1, 2, 3, 4, 5]
    assert (stored(job).state, stored(job).reason) == ("failed", "Given up after 5 deliveries: released")
    assert api.post("runner/jobs/claim").status_code == 204


def test_three_claims_nobody_heard_of_are_free(api, clock):
    factories.submission()

    counts = []
    for _ in range(8):
        job = api.claim(leaseSeconds=60)
        counts.append(stored(job).deliveries)
        clock.forward(seconds=61)
        queue.sweep()

    assert counts == [1, 1, 1, 1, 2, 3, 4, 5]
    assert stored(job).reason == "Given up after 5 deliveries: lease expired"


@pytest.mark.parametrize("verb", ["lease", "progress", "files"])
def test_a_claim_that_was_answered_once_counts(api, clock, verb):
    factories.submission()

    for _ in range(5):
        job = api.claim(leaseSeconds=60)
        api.about(job, verb, **more(api, verb))
        clock.forward(seconds=61)
        queue.sweep()

    assert stored(job).state == "failed"


def test_five_infrastructure_failures_fail_the_job_with_the_last_reason_and_no_score(api):
    factories.submission()
    answers = []
    for n in range(1, 6):
        job = api.claim()
        said = {"infrastructureFailure": True, "failureReason": f"no sandbox, try {n}", "score": 5}
        answers.append(api.about(job, "report", **said).json())

    assert answers[:4] == [{"state": "queued", "duplicate": False}] * 4
    assert (answers[4]["state"], answers[4]["duplicate"]) == ("failed", False)
    row = Job.objects.select_related("result").get()
    assert row.reason == "Given up after 5 deliveries: infrastructure failure: no sandbox, try 5"
    assert (str(row.result.id), row.result.score, row.result.verdict) == (answers[4]["resultId"], None, "")


def test_a_revocation_sends_the_job_back_at_once_and_counted(api, box, api_2, job):
    queue.revoke(box.id, by="user:1", reason="stolen")

    again = api_2.claim()

    assert again["jobId"] == job["jobId"]
    assert again["leaseToken"] != job["leaseToken"]
    assert stored(job).deliveries == 2
    refused(api.about(job, "lease"), 403, "runner.notApproved")
