"""Whatever is sent to people's addresses, the answer is one that was foreseen, and as it is described."""

import re

import pytest
import schemathesis
from django.contrib.auth.models import User
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance

from config.wsgi import application
from tests.contests.conftest import account, logged_in, send

OURS = re.compile(r"^/api/v1/(identity|activities|submissions|runners|maintenance)")
CHECKS = [not_a_server_error, response_schema_conformance]

described = schemathesis.openapi.from_dict(SchemaGenerator().get_schema(request=None, public=True))
described.app = application


@pytest.fixture
def everybody(contest, student):
    """Something to find, and the cookies of one who takes part and runs it all."""
    send(student, contest)
    User.objects.filter(username="student").update(is_staff=True, is_superuser=True)
    account("admin")
    return {name: morsel.value for name, morsel in student.cookies.items()}


@described.include(path_regex=OURS.pattern).parametrize()
@settings(
    max_examples=5,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_whatever_comes_is_answered_as_described(case, everybody):
    case.path_parameters.update({name: "SPRING" for name in ("slug",) if name in case.path_parameters})
    case.path_parameters.update({name: "A" for name in ("problem",) if name in case.path_parameters})

    answer = case.call(cookies=everybody)

    case.validate_response(answer, checks=CHECKS)


BODIES = {
    "nothing": b"",
    "no json": b"<xml/>",
    "invalid utf-8": b'{"reason":"\xff\xfe\xc3("}',
    "nul": b'{"reason":"a\x00b","tags":["\\u0000"]}',
    "half a character": b'{"reason":"\\ud800","tags":["\\ud800"],"level":"\\ud800"}',
    "deep": b'{"tags":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "huge number": b'{"reason":' + b"9" * 100_000 + b',"urgent":1e999}',
    "wrong types": b'{"reason":[],"tags":{"a":1},"level":5,"urgent":[],"email":{},"password":[]}',
    "ten megabytes": b'{"reason":"' + b"x" * 10_000_000 + b'"}',
}
TYPES = ["application/json; charset=utf-16", "multipart/form-data; boundary=\x7f", "x", ""]


@pytest.mark.parametrize("name", BODIES)
def test_no_body_is_an_error_of_ours(contest, admin, name):
    admin.raise_request_exception = False
    paths = [
        "identity/login",
        "maintenance",
        "activities/SPRING/tags",
        "activities/SPRING/problems/A/submissions",
        "runners/0199b1b2-0000-7000-8000-000000000000/revoke",
        "submissions/0199b1b2-0000-7000-8000-000000000000/rejudge",
    ]

    answers = {
        (path, kind): admin.generic("POST", f"/api/v1/{path}", BODIES[name], content_type=kind).status_code
        for path in paths
        for kind in TYPES
    }

    assert {call: status for call, status in answers.items() if status >= 500} == {}


@pytest.mark.parametrize(
    "path", ["activities/\x00", "activities/%ff", "activities/" + "x" * 5000, "activities/SPRING/submissions/..", "identity/login/"]
)
def test_no_path_is_an_error_of_ours(contest, path):
    client = logged_in(account("visitor"))
    client.raise_request_exception = False

    assert client.get(f"/api/v1/{path}").status_code in (400, 404)
