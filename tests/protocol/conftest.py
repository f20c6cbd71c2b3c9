"""The runner surface as a runner meets it: JSON over Django's test client, on a transactional database."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from tests import factories
from tests.factories import Box

PREFIX = "/api/v1/"


@dataclass
class Api:
    """Calls under /api/v1/, as one box or as nobody."""

    box: Box | None = None
    client: Client = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        self.client = Client()

    def by(self, box: Box | None) -> "Api":
        """The same calls by another caller."""
        return Api(box)

    def post(self, path: str, document: Any = None, **headers: Any) -> Any:
        """POST a JSON document, or no body at all."""
        return self.send("POST", path, b"" if document is None else json.dumps(document).encode(), **headers)

    def get(self, path: str, **headers: Any) -> Any:
        """GET."""
        return self.send("GET", path, **headers)

    def send(self, method: str, path: str, body: bytes = b"", content_type: str = "application/json", **headers: str) -> Any:
        """Any request with any bytes; a streamed answer has its `body`."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.box and "Authorization" not in sent:
            sent |= self.box.bearer
        answer: Any = self.client.generic(method, PREFIX + path, body, content_type=content_type, headers=sent)
        if answer.streaming:
            # Read now, so that every test lets go of the file.
            answer.body = b"".join(answer.streaming_content)
            answer.close()
        return answer

    def upload(
        self,
        content: bytes = b"a log",
        *,
        name: str = "log.txt",
        sha256: str | None = None,
        mime_type: str = "text/plain",
        **more: Any,
    ) -> Any:
        """Send one file with its hash."""
        parts = {"sha256": sha256 or hashlib.sha256(content).hexdigest(), **more}
        parts.setdefault("file", SimpleUploadedFile(name, content, content_type=mime_type))
        headers = self.box.bearer if self.box else {}
        return self.client.post(f"{PREFIX}runner/files", {k: v for k, v in parts.items() if v is not None}, headers=headers)

    def claim(self, **asked: Any) -> dict[str, Any]:
        """The document of a job there must be."""
        answer = self.post("runner/jobs/claim", asked)
        assert answer.status_code == 200, answer.content
        return answer.json()

    def about(self, job: dict[str, Any], verb: str, **more: Any) -> Any:
        """A call about a claimed job under its lease."""
        return self.post(f"runner/jobs/{job['jobId']}/{verb}", {"leaseToken": job["leaseToken"], **more})


def refused(answer: Any, status: int, code: str) -> dict[str, Any]:
    """The problem document, which must be whole and say this."""
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json"), answer.content
    problem = answer.json()
    assert {"status", "title", "detail", "code"} <= problem.keys() <= {"status", "title", "detail", "code", "errors"}
    assert (problem["status"], problem["code"]) == (status, code)
    assert problem["detail"]
    return problem


@pytest.fixture(autouse=True)
def storage(settings, tmp_path):
    """A file storage of the test's own."""
    kept = {**django_settings.STORAGES["default"], "OPTIONS": {"location": tmp_path / "files"}}
    settings.STORAGES = {**django_settings.STORAGES, "default": kept}
    return tmp_path / "files"


@pytest.fixture
def box(transactional_db) -> Box:
    return factories.box(name="box 1")


@pytest.fixture
def box_2(transactional_db) -> Box:
    return factories.box(name="box 2")


@pytest.fixture
def api(box) -> Api:
    """Calls by the first box."""
    return Api(box)


@pytest.fixture
def api_2(box_2) -> Api:
    """Calls by the second box."""
    return Api(box_2)


@pytest.fixture
def nobody(transactional_db) -> Api:
    """Calls without a token."""
    return Api()
