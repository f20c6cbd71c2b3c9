"""The OpenAPI description: valid, offline, stable, and true to what is read and answered."""

import json
import re

import jsonschema  # type: ignore[import-untyped]
import pytest
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.validation import validate_schema

from judging import queue
from judging.models import Maintenance
from judging.protocol.reading import Reading
from tests import factories
from tests.protocol.test_problems import CALLS

OPERATIONS = {
    "GET /api/v1/health": "readHealth",
    "POST /api/v1/runner/register": "registerRunner",
    "POST /api/v1/runner/auth/challenge": "requestChallenge",
    "POST /api/v1/runner/auth/token": "obtainToken",
    "POST /api/v1/runner/jobs/claim": "claimJob",
    "POST /api/v1/runner/jobs/leases": "renewLeases",
    "POST /api/v1/runner/jobs/releases": "releaseJobs",
    "POST /api/v1/runner/jobs/{job}/lease": "renewLease",
    "POST /api/v1/runner/jobs/{job}/progress": "noteProgress",
    "POST /api/v1/runner/jobs/{job}/release": "releaseJob",
    "POST /api/v1/runner/jobs/{job}/report": "reportJob",
    "POST /api/v1/runner/jobs/{job}/files": "attachFileToJob",
    "POST /api/v1/runner/files": "uploadFile",
    "POST /api/v1/runner/files/attach": "attachFileToRunner",
    "GET /api/v1/runner/files/{file}": "downloadFile",
    "POST /api/v1/runner/heartbeat": "sendHeartbeat",
    "POST /api/v1/runner/trials/claim": "claimTrial",
}


@pytest.fixture(scope="module")
def schema() -> dict:
    return SchemaGenerator().get_schema(request=None, public=True)


def operations(schema: dict) -> dict[str, dict]:
    """What the schema says of the runner surface, by method and path."""
    return {
        f"{method.upper()} {path}": operation
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
        if "runner" in operation.get("tags", [])
    }


def resolved(schema: dict, part: dict) -> dict:
    """A part with the components it refers to beside it, for jsonschema."""
    return {**part, "components": schema["components"]}


def holds(schema: dict, name: str, document: object) -> bool:
    """Whether a document is what a component says; `null` is as good as absent, which OpenAPI calls nullable."""
    component = json.loads(json.dumps(schema["components"]["schemas"][name]))
    if isinstance(document, dict):
        nullable = {member for member, said in component["properties"].items() if said.get("nullable")}
        document = {member: value for member, value in document.items() if value is not None or member not in nullable}
    return jsonschema.Draft202012Validator(resolved(schema, component)).is_valid(document)


def test_the_schema_is_valid(schema):
    validate_schema(schema)


def test_every_call_has_the_id_that_clients_generated_from(schema):
    assert {call: said["operationId"] for call, said in operations(schema).items()} == OPERATIONS


def test_calls_say_whether_they_need_a_token(schema):
    for call, said in operations(schema).items():
        needs = not call.endswith(("health", "register", "challenge", "/auth/token"))
        assert said.get("security", []) == ([{"runnerBearer": []}] if needs else []), call


def test_problems_are_described_for_every_call(schema):
    for call, said in operations(schema).items():
        for status, answer in said["responses"].items():
            if status >= "400":
                assert answer["content"].keys() == {"application/problem+json"}, (call, status)
        assert "405" in said["responses"], call


def test_the_schema_and_its_pages_are_served_without_the_internet(client, db):
    schema, docs = client.get("/api/v1/schema/"), client.get("/api/v1/docs/")

    assert (schema.status_code, docs.status_code) == (200, 200)
    loaded = re.findall(r'(?:src|href)="([^"]+)"', docs.content.decode())
    assert loaded
    assert all(address.startswith("/") for address in loaded), loaded


REQUESTS: dict[str, tuple[list[dict], list[dict]]] = {
    "ClaimRequest": (
        [{}, {"leaseSeconds": 1}, {"leaseSeconds": -1.5, "waitSeconds": 0}, {"leaseSeconds": None}, {"x": []}],
        [{"leaseSeconds": "1"}, {"waitSeconds": True}, {"leaseSeconds": []}],
    ),
    "RenewalRequest": (
        [{"leaseToken": ""}, {"leaseToken": "x", "leaseSeconds": 5}, {"leaseToken": "x", "leaseSeconds": None}],
        [{}, {"leaseToken": None}, {"leaseToken": 5}, {"leaseToken": "x", "leaseSeconds": "5"}],
    ),
    "ReportRequest": (
        [
            {"leaseToken": "x"},
            {
                "leaseToken": "x",
                "verdict": "",
                "score": 1,
                "maxScore": 1.5,
                "extra": {},
                "props": {"a": 1},
                "files": [],
            },
            {"leaseToken": "x", "verdict": None, "score": None, "files": None, "infrastructureFailure": None},
            {"leaseToken": "x", "runnerVersion": "x" * 64, "failureReason": "x" * 9999, "infrastructureFailure": True},
        ],
        [
            {"verdict": "x"},
            {"leaseToken": "x", "verdict": 5},
            {"leaseToken": "x", "score": "1"},
            {"leaseToken": "x", "infrastructureFailure": "true"},
            {"leaseToken": "x", "runnerVersion": "x" * 65},
            {"leaseToken": "x", "files": {}},
        ],
    ),
    "RegistrationRequest": (
        [
            {"name": "a", "publicKey": "", "problemTypes": []},
            {
                "name": "a" * 128,
                "publicKey": "x",
                "problemTypes": ["x" * 128],
                "external": True,
                "tags": ["x"],
                "machine": {},
            },
            {"name": "a", "publicKey": "x", "problemTypes": [""], "product": None, "nonce": "x", "signature": None},
        ],
        [
            {"publicKey": "x", "problemTypes": []},
            {"name": "", "publicKey": "x", "problemTypes": []},
            {"name": "a" * 129, "publicKey": "x", "problemTypes": []},
            {"name": "a", "problemTypes": []},
            {"name": "a", "publicKey": "x"},
            {"name": "a", "publicKey": "x", "problemTypes": [1]},
            {"name": "a", "publicKey": "x", "problemTypes": ["x" * 129]},
            {"name": "a", "publicKey": "x", "problemTypes": ["x"] * 257},
            {"name": "a", "publicKey": "x", "problemTypes": [], "version": "x" * 65},
            {"name": "a", "publicKey": "x", "problemTypes": [], "external": 1},
        ],
    ),
    "SignedNonceRequest": (
        [{"fingerprint": "", "nonce": "", "signature": ""}],
        [{"fingerprint": "x", "nonce": "x"}, {}],
    ),
    "FingerprintRequest": ([{"fingerprint": ""}], [{}, {"fingerprint": 5}]),
    "RenewalsRequest": (
        [{"jobs": []}, {"jobs": [5, {}], "leaseSeconds": 5}],
        [{}, {"jobs": {}}, {"jobs": [], "leaseSeconds": "5"}],
    ),
    "JobAttachmentRequest": (
        [{"leaseToken": "", "fileId": "x", "name": "log"}],
        [
            {"fileId": "x", "name": "log"},
            {"leaseToken": "x", "fileId": 5, "name": "log"},
            {"leaseToken": "x", "fileId": "x"},
        ],
    ),
}
PATHS = {
    "ClaimRequest": "runner/jobs/claim",
    "RenewalRequest": "runner/jobs/{id}/lease",
    "ReportRequest": "runner/jobs/{id}/report",
    "RegistrationRequest": "runner/register",
    "SignedNonceRequest": "runner/auth/token",
    "FingerprintRequest": "runner/auth/challenge",
    "RenewalsRequest": "runner/jobs/leases",
    "JobAttachmentRequest": "runner/jobs/{id}/files",
}


@pytest.mark.parametrize("name", REQUESTS)
def test_the_declared_requests_and_the_reader_agree(schema, api, name):
    well, ill = REQUESTS[name]
    path = PATHS[name].format(id=factories.submission().job)

    for document in well:
        assert holds(schema, name, document), document
        assert api.post(path, document).status_code != 400, document
    for document in ill:
        assert not holds(schema, name, document), document
        assert api.post(path, document).status_code == 400, document


def test_the_declared_answers_and_the_documents_agree(schema, api, nobody):
    work = factories.work(config='{"a":1}', version_props='{"b":2}', package=factories.package())
    factories.submission(work, props='{"c":3}')
    factories.submission()
    job, bare = api.claim(), api.claim()
    upload = api.upload().json()
    answers = {
        "ClaimedJob": [job, bare],
        "Lease": [api.about(job, "lease").json()],
        "BatchAnswer": [api.post("runner/jobs/leases", {"jobs": [job, {"jobId": "x", "leaseToken": "x"}]}).json()],
        "StoredFile": [upload],
        "Reported": [
            api.about(job, "report", verdict="Accepted").json(),
            api.about(bare, "report", infrastructureFailure=True).json(),
        ],
        "Challenge": [nobody.post("runner/auth/challenge", {"fingerprint": api.box.fingerprint}).json()],
        "Problem": [nobody.post("runner/register", {}).json(), nobody.get("nothing").json()],
        "Health": [nobody.get("health").json()],
    }
    queue.switch_maintenance(Maintenance.DRAINING, reason="new disks")
    answers["Health"].append(nobody.get("health").json())

    for name, documents in answers.items():
        for document in documents:
            strict = {**schema["components"]["schemas"][name], "additionalProperties": False}
            jsonschema.Draft202012Validator(resolved(schema, strict)).validate(document)


def test_every_call_of_the_table_is_described(schema):
    described = {re.sub(r"\{\w+\}", "{id}", call.removeprefix("POST /api/v1/").removeprefix("GET /api/v1/")) for call in operations(schema)}

    assert described == {path for _, path in CALLS} | {"health"}


def test_a_reading_of_nothing_is_an_object_without_members():
    asked = Reading.of(b"")

    assert asked.number("leaseSeconds") is None
    asked.finish()
