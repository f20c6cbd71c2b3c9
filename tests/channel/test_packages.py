"""The package of a job, pulled as an OCI image by whoever holds the job (channel-protocol §5)."""

import shutil
import subprocess
from uuid import UUID

import httpx
import pytest

from judging import queue
from judging.channel.packages import CONFIG, digest_of
from tests import factories
from tests.channel.conftest import ACCEPTED, OPERATOR, stored, until

PACKAGE = b"PK a package of some bytes" * 1000


@pytest.fixture
def told(hall, runner):
    """The frame of a job whose problem has a package."""
    hall.work = factories.work(package=factories.package(PACKAGE))
    wire = hall.connect(runner)
    job = hall.submit()
    told = wire.ask("ready")
    until(lambda: stored(job).heard)
    return told | {"wire": wire}


def pull(hall, path, token=None, method="GET"):
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx.request(method, hall.served.http(path), headers=headers)


def addresses(told):
    return f"/v2/{told['config']['project']}/manifests/{told['config']['digest']}"


def test_the_manifest_and_what_it_names_are_pulled_with_the_jobs_token(hall, told):
    manifest = pull(hall, addresses(told), told["oci_token"])

    assert manifest.headers["Content-Type"] == "application/vnd.oci.image.manifest.v1+json"
    assert manifest.headers["Docker-Content-Digest"] == told["config"]["digest"] == digest_of(manifest.content)
    (layer,) = manifest.json()["layers"]
    blobs = f"/v2/{told['config']['project']}/blobs/"
    assert pull(hall, blobs + layer["digest"], told["oci_token"]).content == PACKAGE
    assert pull(hall, blobs + digest_of(CONFIG), told["oci_token"]).content == CONFIG
    assert layer["size"] == len(PACKAGE)


def test_head_says_the_same_without_the_body(hall, told):
    answer = pull(hall, addresses(told), told["oci_token"], "HEAD")

    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["Docker-Content-Digest"] == told["config"]["digest"]
    assert int(answer.headers["Content-Length"]) > 0


def test_the_registry_says_that_it_is_one(hall, told):
    assert pull(hall, "/v2/", told["oci_token"]).headers["Docker-Distribution-Api-Version"] == "registry/2.0"


@pytest.mark.parametrize("token", [None, "nonsense", "a.b.c", ""])
def test_without_a_good_token_there_is_a_challenge(hall, told, token):
    answer = pull(hall, addresses(told), token)

    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer realm=")
    assert answer.json()["errors"][0]["code"] == "UNAUTHORIZED"


def test_a_token_signed_by_somebody_else_opens_nothing(hall, told):
    head, body, _ = told["oci_token"].split(".")

    assert pull(hall, "/v2/", f"{head}.{body}.{'A' * 43}").status_code == 401


def test_another_repository_is_denied(hall, told):
    other = factories.work(package=factories.package(b"PK other"))

    answer = pull(hall, f"/v2/{other.problem.id}/manifests/{told['config']['digest']}", told["oci_token"])

    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (403, "DENIED")


def test_another_digest_is_unknown(hall, told):
    project = told["config"]["project"]
    unknown = "sha256:" + "0" * 64

    assert pull(hall, f"/v2/{project}/manifests/{unknown}", told["oci_token"]).json()["errors"][0]["code"] == "MANIFEST_UNKNOWN"
    assert pull(hall, f"/v2/{project}/manifests/latest", told["oci_token"]).status_code == 404
    assert pull(hall, f"/v2/{project}/blobs/{unknown}", told["oci_token"]).json()["errors"][0]["code"] == "BLOB_UNKNOWN"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_the_registry_is_only_read(hall, told, method):
    answer = pull(hall, addresses(told), told["oci_token"], method)

    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD")


def test_a_token_is_good_for_ten_minutes(hall, told, clock):
    for _ in range(9):
        clock.forward(seconds=66)
        told["wire"].ask("heartbeat")
    assert pull(hall, "/v2/", told["oci_token"]).status_code == 200

    clock.forward(seconds=7)
    told["wire"].ask("heartbeat")

    assert pull(hall, "/v2/", told["oci_token"]).status_code == 401


def test_a_token_dies_with_its_lease(hall, told, clock):
    clock.forward(seconds=101)

    assert pull(hall, "/v2/", told["oci_token"]).status_code == 401


@pytest.mark.parametrize("end", ["finished", "cancelled"])
def test_a_token_dies_with_its_job(hall, told, end):
    if end == "finished":
        told["wire"].ask("running")
        told["wire"].ask("completed", job=told["uuid"], results=ACCEPTED)
    else:
        queue.cancel(UUID(told["uuid"]), by=OPERATOR, reason="a wrong problem")

    assert pull(hall, "/v2/", told["oci_token"]).status_code == 401


def test_a_problem_without_a_package_has_an_image_without_layers(hall, wire):
    hall.submit()
    told = wire.ask("ready")

    assert pull(hall, addresses(told), told["oci_token"]).json()["layers"] == []


def skopeo(hall, told, target, token):
    source = f"docker://127.0.0.1:{hall.served.port}/{told['config']['project']}@{told['config']['digest']}"
    command = ["skopeo", "--insecure-policy", "copy", "--src-tls-verify=false", f"--src-registry-token={token}", source, f"dir:{target}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.skipif(shutil.which("skopeo") is None, reason="needs skopeo: apt-get install skopeo")
def test_skopeo_copies_a_package_and_only_with_the_jobs_token(hall, told, tmp_path, clock):
    copied = skopeo(hall, told, tmp_path / "image", told["oci_token"])
    assert copied.returncode == 0, copied.stderr
    assert any(file.read_bytes() == PACKAGE for file in (tmp_path / "image").iterdir())

    other = told | {"config": told["config"] | {"project": str(factories.work().problem.id)}}
    assert skopeo(hall, told, tmp_path / "a", "nonsense").returncode != 0
    assert "denied" in skopeo(hall, other, tmp_path / "b", told["oci_token"]).stderr.lower()
    clock.forward(seconds=601)
    assert "unauthorized" in skopeo(hall, told, tmp_path / "c", told["oci_token"]).stderr.lower()
