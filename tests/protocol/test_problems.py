"""Every error under /api/v1 is a problem document (RFC 9457, runner-protocol §1)."""

import pytest
from django.db import OperationalError, connection
from django.test import RequestFactory

from judging import queue
from judging.models import Installation, Maintenance
from judging.protocol import problem_details
from tests import factories
from tests.protocol.conftest import Api, refused

CALLS = [
    ("POST", "runner/register"),
    ("POST", "runner/auth/challenge"),
    ("POST", "runner/auth/token"),
    ("POST", "runner/jobs/claim"),
    ("POST", "runner/jobs/leases"),
    ("POST", "runner/jobs/releases"),
    ("POST", "runner/jobs/{id}/lease"),
    ("POST", "runner/jobs/{id}/progress"),
    ("POST", "runner/jobs/{id}/release"),
    ("POST", "runner/jobs/{id}/report"),
    ("POST", "runner/jobs/{id}/files"),
    ("POST", "runner/files"),
    ("POST", "runner/files/attach"),
    ("GET", "runner/files/{id}"),
    ("POST", "runner/heartbeat"),
    ("POST", "runner/trials/claim"),
]
AN_ID = "01939d5e-7a3c-7000-8000-000000000000"
WITHOUT_TOKEN = {"runner/register", "runner/auth/challenge", "runner/auth/token"}


@pytest.mark.parametrize(
    "path",
    [
        *(
            "",
            "nothing",
            "runner",
            "runner/",
            "runner/jobs",
            "runner/jobs/claim/",
            "runner/jobs//claim",
            "health/",
            "HEALTH",
        ),
        *(f"runner/jobs/{AN_ID}/lease/", f"runner/jobs/{AN_ID}", f"runner/jobs/{AN_ID}/nothing", "runner/../health"),
        *(
            "runner/files/",
            "%00",
            "%ff%fe",
            "runner/%0a",
            "x" * 8000,
            "runner/jobs/%2e%2e/lease/x",
            "../v2/health",
            "?x=1",
        ),
    ],
)
def test_an_unknown_route_is_not_found(nobody, path):
    for method in ("GET", "POST", "DELETE", "BREW"):
        refused(nobody.send(method, path), 404, "not_found")


def test_the_prefix_itself_is_no_page(client):
    for path in ("/api/v1", "/api/v1/"):
        refused(client.post(path), 404, "not_found")


@pytest.mark.parametrize(("right", "path"), [*CALLS, ("GET", "health")])
def test_another_method_is_not_allowed(api, right, path):
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"} - {right}:
        answer = api.send(method, path.format(id=AN_ID))

        refused(answer, 405, "method_not_allowed")
        assert right in answer["Allow"]


@pytest.mark.parametrize(("method", "path"), CALLS)
def test_calls_need_a_token_but_for_the_ways_to_get_one(nobody, method, path):
    answer = nobody.send(method, path.format(id=AN_ID), b"{")

    if path in WITHOUT_TOKEN:
        refused(answer, 400, "malformed_json")
    else:
        refused(answer, 401, "unauthenticated")
        assert answer["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize(("method", "path"), CALLS)
def test_a_pending_runner_may_do_nothing(nobody, method, path):
    if path not in WITHOUT_TOKEN:
        box = factories.box()
        box.runner.__class__.objects.filter(id=box.id).update(state="pendingApproval")

        refused(nobody.by(box).send(method, path.format(id=AN_ID)), 403, "runner.notApproved")


@pytest.mark.parametrize("accept", ["text/html", "application/xml", "nonsense", "*/*;q=0", ""])
def test_whatever_a_caller_would_like_it_gets_json(api, accept):
    assert api.post("runner/jobs/leases", {"jobs": []}, Accept=accept)["Content-Type"] == "application/json"


@pytest.mark.parametrize("host", ["a b", "wrong.example"])
def test_a_name_this_site_is_not_reached_by_is_said_to_be_that(client, settings, host):
    settings.ALLOWED_HOSTS = ["judge.example"]

    problem = refused(client.get("/api/v1/schema/", headers={"Host": host}), 400, "host.unknown")

    assert "ASSIZE_HOSTS" in problem["detail"]


def broken(*_, **__):
    raise ZeroDivisionError("secret words")


def test_what_nobody_foresaw_is_500_without_its_words(api, monkeypatch):
    monkeypatch.setattr(queue, "claim", broken)

    answer = api.post("runner/jobs/claim")

    refused(answer, 500, "internal_error")
    assert b"secret" not in answer.content


@pytest.mark.parametrize("where", ["django.db.backends.base.base.BaseDatabaseWrapper.ensure_connection", "judging.queue.claim"])
def test_a_database_that_is_gone_is_503(api, monkeypatch, where):
    def gone(*_, **__):
        raise OperationalError("the server closed the connection unexpectedly")

    connection.close()
    with monkeypatch.context() as patched:
        patched.setattr(where, gone)
        answer = api.post("runner/jobs/claim")

    refused(answer, 503, "storage.unavailable")
    assert answer["Retry-After"] == "30"


def test_health_says_that_the_database_is_gone(nobody, monkeypatch):
    def gone(*_):
        raise OperationalError("the server closed the connection unexpectedly")

    connection.close()
    with monkeypatch.context() as patched:
        patched.setattr("django.db.backends.base.base.BaseDatabaseWrapper.ensure_connection", gone)
        answer = nobody.get("health")

    assert answer.json() == {"status": "ok", "storage": "unavailable"}


def test_health_of_an_open_server(nobody):
    answer = nobody.get("health")

    assert (answer.status_code, answer.json()) == (200, {"status": "ok", "storage": "ok"})
    assert answer["Cache-Control"] == "no-store"


def test_a_draining_server_hands_out_nothing_and_enrols_nobody(api, nobody):
    factories.submission()
    held = api.claim()
    factories.submission()
    queue.switch_maintenance(Maintenance.DRAINING, reason="new disks")

    assert api.post("runner/jobs/claim", {"waitSeconds": 0}).status_code == 204
    answer = nobody.post("runner/register", {})
    assert refused(answer, 503, "server.maintenance")["detail"] == "new disks"
    assert answer["Retry-After"] == "30"
    notice = nobody.get("health").json()["maintenance"]
    assert (notice["level"], notice["reason"], notice["since"][-1]) == ("draining", "new disks", "Z")
    # What a runner holds it may finish.
    assert factories.new_token(api.box)
    assert api.about(held, "lease").status_code == 200
    assert api.about(held, "progress").status_code == 204
    assert api.get(f"runner/files/{held['files'][0]['fileId']}").status_code == 200
    assert api.about(held, "files", fileId=api.upload().json()["id"], name="log").status_code == 204
    assert api.post("runner/heartbeat").status_code == 204
    assert api.about(held, "report", verdict="Accepted").status_code == 200


def test_a_reopened_server_goes_on(api):
    factories.submission()
    queue.switch_maintenance(Maintenance.DRAINING)
    queue.switch_maintenance(Maintenance.OPEN)

    assert api.claim()


@pytest.mark.parametrize("authenticated", [True, False])
def test_a_closed_server_answers_health_alone(api, nobody, authenticated):
    Installation.objects.update_or_create(id=1, defaults={"level": Maintenance.CLOSED})

    for method, path in CALLS:
        answer = (api if authenticated else nobody).send(method, path.format(id=AN_ID))

        refused(answer, 503, "server.maintenance")
        assert answer["Retry-After"] == "30"
    assert nobody.get("health").json()["maintenance"] == {"level": "closed"}


def test_drf_and_django_exceptions_have_their_code():
    from django.core.exceptions import PermissionDenied, RequestDataTooBig
    from django.http import Http404, UnreadablePostError
    from rest_framework import exceptions

    said = {
        exceptions.NotAuthenticated(): (401, "unauthenticated"),
        exceptions.PermissionDenied(): (403, "forbidden"),
        PermissionDenied(): (403, "forbidden"),
        Http404(): (404, "not_found"),
        exceptions.MethodNotAllowed("GET"): (405, "method_not_allowed"),
        exceptions.UnsupportedMediaType("a/b"): (415, "unsupported_media_type"),
        exceptions.ParseError(): (400, "malformed_json"),
        exceptions.Throttled(wait=5): (429, "rate.limited"),
        RequestDataTooBig(): (413, "payload_too_large"),
        UnreadablePostError(): (400, "malformed_request"),
        exceptions.ValidationError({"name": ["too long"], "tags": [{"a": "b"}]}): (400, "malformed_request"),
        exceptions.ValidationError(["odd"]): (400, "malformed_request"),
    }

    for error, (status, code) in said.items():
        refused(Document(problem_details.answer(error, {})), status, code)


class Document:
    """A bare response, with the test client's `json()`."""

    def __init__(self, response) -> None:
        self.response = response
        self.status_code, self.content = response.status_code, response.content

    def __getitem__(self, name: str) -> str:
        return self.response[name]

    def json(self):
        import json

        return json.loads(self.content)


@pytest.mark.parametrize("status", [400, 403, 404, 500, 418])
def test_a_page_of_errors_under_the_prefix_becomes_a_problem(status):
    from django.http import HttpResponse

    site = problem_details.ProblemDetails(lambda request: HttpResponse("<h1>secret</h1>", status=status))

    here, elsewhere = site(RequestFactory().get("/api/v1/x")), site(RequestFactory().get("/api/v1x"))

    assert here["Content-Type"] == "application/problem+json"
    assert b"secret" not in here.content
    assert elsewhere.content == b"<h1>secret</h1>"


def test_the_runner_surface_never_redirects(settings, api):
    settings.SECURE_SSL_REDIRECT = True
    settings.APPEND_SLASH = True

    assert Api(api.box).post("runner/heartbeat").status_code == 204
    assert Api().get("health").status_code == 200
