"""The report: its order, its gates, and that it is taken exactly once (seed 000, runner-protocol §8)."""

import json
from uuid import uuid4

import pytest

from judging import queue
from judging.models import Attachment, Delivery, Job, Result
from runners.models import Runner
from tests import factories
from tests.protocol.conftest import refused

TOO_LARGE = {"a": "x" * 262_144}


@pytest.fixture
def job(api) -> dict:
    """A job the first box holds."""
    factories.submission()
    return api.claim()


def test_a_result_ends_the_job(api, box, job):
    said = {
        "verdict": "Wrong answer",
        "score": 12.5,
        "maxScore": 100,
        "runnerVersion": "1.2.3",
        "extra": {"time": 0.25},
        "props": {"tests": [1e999, "\u0000"]},
    }

    answer = api.about(job, "report", **{**said, "props": {"tests": []}})

    result = Result.objects.select_related("job").get()
    assert answer.json() == {"resultId": str(result.id), "state": "completed", "duplicate": False}
    assert (result.verdict, result.score, result.max_score, result.runner_version) == (
        "Wrong answer",
        12.5,
        100.0,
        "1.2.3",
    )
    assert (result.extra, result.props) == ('{"time":0.25}', '{"tests":[]}')
    assert (result.job.state, result.job.token) == ("completed", None)
    assert Runner.objects.get(id=box.id).jobs_done == 1


def test_the_same_report_twice_is_one_result(api, job):
    first = api.about(job, "report", verdict="Accepted").json()
    second = api.about(job, "report", verdict="Wrong answer").json()

    assert (first["duplicate"], second["duplicate"]) == (False, True)
    assert second == {**first, "duplicate": True}
    assert Result.objects.get().verdict == "Accepted"


@pytest.mark.parametrize("again", [{}, {"props": TOO_LARGE}, {"extra": []}, {"verdict": "x" * 65}])
def test_a_repeat_is_answered_whatever_it_says_now(api, job, again):
    first = api.about(job, "report", verdict="Accepted").json()

    assert api.about(job, "report", **again).json() == {**first, "duplicate": True}


def test_another_token_is_stale_even_for_the_runner_that_owns_the_result(api, job):
    api.about(job, "report", verdict="Accepted")

    refused(api.about(job | {"leaseToken": str(uuid4())}, "report", verdict="Accepted"), 403, "runner.lease.stale")


def test_a_repeat_by_another_runner_is_stale(api, api_2, job):
    api.about(job, "report", verdict="Accepted")

    refused(api_2.about(job, "report", verdict="Accepted"), 403, "runner.lease.stale")


def test_a_report_under_another_jobs_token_is_stale(api, job):
    factories.submission()
    other = api.claim()
    api.about(other, "report", verdict="Accepted")

    refused(api.about(job | {"leaseToken": other["leaseToken"]}, "report", verdict="Accepted"), 403, "runner.lease.stale")


def test_a_late_report_changes_nothing(api, api_2, job, clock):
    clock.forward(seconds=601)
    fresh = api_2.claim()

    refused(api.about(job, "report", verdict="Accepted"), 403, "runner.lease.stale")

    api_2.about(fresh, "report", verdict="Wrong answer")
    assert Result.objects.get().verdict == "Wrong answer"


@pytest.mark.parametrize("said", [{"props": TOO_LARGE}, {"extra": []}, {"verdict": " "}, {}])
def test_the_lease_is_looked_at_before_the_documents(api, api_2, job, said):
    refused(api.about(job | {"jobId": str(uuid4())}, "report", **said), 404, "not_found")
    refused(api.about(job | {"leaseToken": "x"}, "report", **said), 422, "runner.lease.malformed")
    refused(api.about(job | {"leaseToken": str(uuid4())}, "report", **said), 403, "runner.lease.stale")
    refused(api_2.about(job, "report", **said), 403, "runner.lease.foreign")


@pytest.mark.parametrize(
    ("said", "status", "code"),
    [
        ({}, 422, "result.verdict.missing"),
        ({"verdict": None}, 422, "result.verdict.missing"),
        ({"verdict": " \n"}, 422, "result.verdict.missing"),
        ({"verdict": "x" * 65}, 422, "result.verdict.tooLong"),
        ({"verdict": 5}, 400, "malformed_request"),
        ({"verdict": "Accepted", "score": "5"}, 400, "malformed_request"),
        ({"verdict": "Accepted", "score": 10**400}, 400, "malformed_request"),
        ({"verdict": "Accepted", "maxScore": True}, 400, "malformed_request"),
        ({"verdict": "Accepted", "runnerVersion": "x" * 65}, 400, "malformed_request"),
        ({"verdict": "Accepted", "files": {}}, 400, "malformed_request"),
        ({"infrastructureFailure": "yes"}, 400, "malformed_request"),
        ({"failureReason": 5, "infrastructureFailure": True}, 400, "malformed_request"),
        ({"verdict": "Accepted", "props": TOO_LARGE}, 422, "opaque.tooLarge"),
        ({"verdict": "Accepted", "props": []}, 422, "opaque.notAnObject"),
        ({"verdict": "Accepted", "props": "{}"}, 422, "opaque.notAnObject"),
        ({"verdict": "Accepted", "props": 5}, 422, "opaque.notAnObject"),
        ({"verdict": "Accepted", "extra": {"a": "x" * 2048}}, 422, "opaque.tooLarge"),
        ({"verdict": "x" * 65, "props": []}, 422, "opaque.notAnObject"),
        ({"infrastructureFailure": True, "props": []}, 422, "opaque.notAnObject"),
    ],
)
def test_a_report_that_is_not_as_it_should_be_leaves_the_lease(api, job, said, status, code):
    refused(api.about(job, "report", **said), status, code)

    assert api.about(job, "report", verdict="Accepted").json()["state"] == "completed"


@pytest.mark.parametrize("verdict", ["x" * 64, "é" * 64, "Ω\x00", "\ud800"])
def test_a_verdict_has_sixty_four_characters(api, job, verdict):
    assert api.about(job, "report", verdict=verdict).status_code == 200


@pytest.mark.parametrize(("member", "most"), [("props", 262_144), ("extra", 2048)])
def test_documents_are_measured_as_compact_utf8(api, job, member, most):
    fits = json.dumps({"é": "é" * ((most - 9) // 2)}, indent=4)

    body = f'{{"leaseToken":"{job["leaseToken"]}","verdict":"Accepted","{member}":{fits}}}'
    answer = api.send("POST", f"runner/jobs/{job['jobId']}/report", body.encode())

    assert answer.status_code == 200, answer.content
    assert len(getattr(Result.objects.get(), member).encode()) == most - 1


@pytest.mark.parametrize("digits", [4300, 4301])
def test_a_number_no_reader_could_read_is_refused(api, job, digits):
    body = f'{{"leaseToken":"{job["leaseToken"]}","verdict":"Accepted","props":{{"{"9" * 9999}":{"9" * digits}}}}}'

    answer = api.send("POST", f"runner/jobs/{job['jobId']}/report", body.encode())

    if digits > 4300:
        refused(answer, 422, "opaque.notJson")
    else:
        assert answer.status_code == 200


def test_documents_are_kept_as_they_were_written(api, job):
    props = r'{ "n": [1e999, 1.50, 99999999999999999999999999], "text": "\u0000\ud800 \u00e9", "b": {} }'
    body = f'{{"leaseToken":"{job["leaseToken"]}","verdict":"Accepted","props":{props},"extra":{{ }}}}'

    assert api.send("POST", f"runner/jobs/{job['jobId']}/report", body.encode()).status_code == 200

    result = Result.objects.get()
    assert result.props == r'{"n":[1e999,1.50,99999999999999999999999999],"text":"\u0000\ud800 é","b":{}}'
    assert result.extra == ""


def test_a_long_failure_reason_is_cut_and_marked(api, job):
    api.about(job, "report", infrastructureFailure=True, failureReason="é\x00\ud800" * 200_000)

    reason = str(Job.objects.get().reason)
    assert reason.endswith("… [cut]")
    assert len(reason.encode()) <= 4096


def test_files_come_with_the_report_and_none_can_fail_it(api, job):
    log, details = api.upload(b"log").json()["id"], api.upload(b"details").json()["id"]
    files = [
        {"name": "log", "fileId": log},
        {"name": "log", "fileId": details},
        {"name": "again", "fileId": log},
        {"name": "unknown", "fileId": str(uuid4())},
        {"name": "\x00\ud800", "fileId": details},
        {"name": "x" * 129, "fileId": details},
        {"name": 5, "fileId": []},
        {"fileId": details},
        "nonsense",
        None,
        5,
    ]

    assert api.about(job, "report", verdict="Accepted", files=files).status_code == 200

    kept = dict(Attachment.objects.values_list("name", "file"))
    assert {name: str(file) for name, file in kept.items()} == {"log": log, "\ufffd\ufffd": details}
    assert set(Attachment.objects.values_list("delivery", flat=True)) == {Delivery.objects.get().token}


def test_roles_of_an_ended_delivery_do_not_block_the_next(api, job):
    api.about(job, "files", fileId=api.upload(b"1").json()["id"], name="log")
    api.about(job, "report", infrastructureFailure=True)
    again = api.claim()

    assert api.about(again, "files", fileId=api.upload(b"2").json()["id"], name="log").status_code == 204


def test_reports_survive_a_new_token(api, box, job):
    fresh = factories.new_token(box)

    answer = api.post(
        f"runner/jobs/{job['jobId']}/report",
        {"leaseToken": job["leaseToken"], "verdict": "Accepted"},
        Authorization=f"Bearer {fresh}",
    )

    assert answer.json()["state"] == "completed"


def test_an_operators_cancel_before_the_report_wins(api, job):
    queue.cancel(Job.objects.get().id, by="user:1", reason="wrong data")

    refused(api.about(job, "report", verdict="Accepted"), 403, "runner.lease.stale")

    assert not Result.objects.exists()
