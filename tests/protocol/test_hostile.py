"""Nothing any client sends gives a 500: whatever the bytes, wherever they are sent."""

import json

import pytest
from django.test import RequestFactory
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from config.wsgi import application as site
from judging import json_text
from tests import factories
from tests.protocol.test_problems import AN_ID, CALLS

POSTS = [path for method, path in CALLS if method == "POST"]
DEEP = b"[" * 200_000 + b"]" * 200_000
NESTED = b'{"a":' * 50_000 + b"1" + b"}" * 50_000

BODIES = {
    "nothing": b"",
    "blanks": b" \r\n\t ",
    "no json": b"<xml/>",
    "half": b'{"leaseToken": "',
    "more behind it": b"{}{}",
    "trailing comma": b'{"a":1,}',
    "single quotes": b"{'a':1}",
    "invalid utf-8": b'{"name":"\xff\xfe\xc3("}',
    "utf-16": '{"name":"x"}'.encode("utf-16"),
    "byte order mark": b"\xef\xbb\xbf{}",
    "nul": b'{"name":"a\x00b"}',
    "only nuls": b"\x00" * 1000,
    "null": b"null",
    "true": b"true",
    "a number": b"1e999",
    "a string": b'"x"',
    "a list": b"[]",
    "not a number": b'{"leaseSeconds":NaN,"score":Infinity}',
    "deep list": DEEP,
    "deep object": NESTED,
    "deep member": b'{"jobs":' + DEEP + b',"props":' + DEEP + b"}",
    "ten megabytes": b'{"a":"' + b"x" * 10_000_000 + b'"}',
    "a form": b"leaseToken=x&verdict=y",
}
"""Refused by every call that reads a document."""

TEXTS = ["", " ", "\x00", "a\udfff\x00", "x" * 100_000, "\u202e", AN_ID, "{" + AN_ID + "}", "%s'; --"]
ODD = [
    *TEXTS,
    None,
    True,
    -1,
    10**300,
    [],
    {},
    ["\x00"],
    {"a": {"b": []}},
    [{"jobId": "\ud800", "leaseToken": "\x00"}],
    [1] * 600,
]
MEMBERS = {
    "runner/register": (
        *("name", "product", "version", "publicKey", "problemTypes", "external", "tags", "machine"),
        *("nonce", "signature"),
    ),
    "runner/auth/challenge": ("fingerprint",),
    "runner/auth/token": ("fingerprint", "nonce", "signature"),
    "runner/jobs/claim": ("leaseSeconds", "waitSeconds"),
    "runner/jobs/leases": ("jobs", "leaseSeconds"),
    "runner/jobs/releases": ("jobs",),
    "runner/jobs/{id}/lease": ("leaseToken", "leaseSeconds"),
    "runner/jobs/{id}/progress": ("leaseToken", "outsideId"),
    "runner/jobs/{id}/release": ("leaseToken",),
    "runner/jobs/{id}/report": (
        *("leaseToken", "verdict", "score", "maxScore", "props", "extra", "files", "failureReason"),
        *("infrastructureFailure", "runnerVersion"),
    ),
    "runner/jobs/{id}/files": ("leaseToken", "fileId", "name"),
    "runner/files/attach": ("fileId", "name"),
}
"""What each call reads."""


@pytest.fixture
def held(api) -> dict:
    factories.submission()
    return api.claim()


def right(held: dict) -> dict:
    """Members that together are right for every call."""
    return {
        "leaseToken": held["leaseToken"],
        "jobs": [{"jobId": held["jobId"], "leaseToken": held["leaseToken"]}],
        "fileId": AN_ID,
        "name": "box",
        "fingerprint": "0" * 64,
        "nonce": "x",
        "signature": "x",
        "publicKey": "x",
        "problemTypes": [],
        "verdict": "Accepted",
    }


@pytest.mark.parametrize("path", POSTS)
def test_no_body_is_a_server_error(api, held, path):
    path = path.format(id=held["jobId"])

    for name, body in BODIES.items():
        answer = api.send("POST", path, body)

        assert answer.status_code < 500, (name, answer.content)
        if answer.status_code >= 400:
            assert answer.json()["code"]


@pytest.mark.parametrize("path", MEMBERS)
def test_no_member_is_a_server_error(api, path):
    work = factories.work()
    held = another(api, work)
    for member in MEMBERS[path]:
        for odd in ODD:
            answer = api.post(path.format(id=held["jobId"]), right(held) | {member: odd})

            assert answer.status_code < 500, (member, odd, answer.content)
            if answer.status_code < 300 and path.endswith(("report", "release", "releases")):
                held = another(api, work)


def another(api, work) -> dict:
    """A job to go on with, when the last one has come to its end."""
    factories.submission(work)
    return api.claim()


@pytest.mark.parametrize("number", ["1e999", "-1e999", "9" * 5000, "-0", "1e-999", "0.1e1", "1E+2", "-" + "9" * 5000])
def test_no_number_is_a_server_error(api, held, number):
    names = ("leaseSeconds", "waitSeconds", "score", "maxScore")
    sent = json.dumps(right(held))[:-1] + "".join(f',"{name}":{number}' for name in names) + "}"

    for path in ("runner/jobs/claim", "runner/jobs/{id}/lease", "runner/jobs/leases", "runner/jobs/{id}/report"):
        answer = api.send("POST", path.format(id=held["jobId"]), sent.encode())

        assert answer.status_code < 500, answer.content


@pytest.mark.parametrize(
    "content_type",
    [
        *(
            "",
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data",
            "multipart/form-data; boundary=\x00",
        ),
        *(
            "application/json; charset=utf-16",
            "application/json; charset=nonsense",
            "a/b; ;=;;",
            "\xff\xfe",
            "x" * 10_000,
        ),
        *("text/plain; charset*=bogus''x", "text/plain; charset=a\x00b", "multipart/form-data; boundary*=utf-8''%ff"),
    ],
)
def test_no_content_type_is_a_server_error(api, content_type):
    for path in POSTS:
        # The site itself, because the test client makes requests of another class.
        environ = RequestFactory(headers=api.box.bearer).generic("POST", f"/api/v1/{path}", b'{"a":1}').environ
        heard = []
        answer = site(environ | {"CONTENT_TYPE": content_type}, lambda status, headers, heard=heard: heard.append(status))
        answer.close()

        assert heard[0] < "500", path


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "a b\x00"},
        {"Host": ""},
        {"Content-Length": "nonsense"},
        {"Content-Length": "\xb2"},
        {"Content-Length": "-5"},
        {"Content-Length": "9" * 5000},
        {"Transfer-Encoding": "chunked"},
        {"Content-Encoding": "gzip"},
        {"Authorization": "Bearer \x00"},
        {"Authorization": "Bearer a, Bearer b"},
        {"Cookie": "\xff;=;" * 1000},
        {"X-Forwarded-For": "\x00, ::1%\xff" * 100},
        {"If-None-Match": '"' * 5000},
        {"Range": "bytes=" + "1-2," * 5000},
        {"Accept": "\xff" * 1000},
        {"X-HTTP-Method-Override": "DELETE"},
    ],
)
def test_no_header_is_a_server_error(api, headers):
    for method, path in [*CALLS, ("GET", "health")]:
        answer = api.send(method, path.format(id=AN_ID), b"{}", **headers)

        assert answer.status_code < 500, (path, answer.content)


@pytest.mark.parametrize(
    "segment", ["%00", "%ff", "%", "%zz", "..", ".", "%2e%2e", "%2f", ";", "a b", "%0d%0aX: y", "\u202e", "x" * 20_000]
)
def test_no_path_is_a_server_error(api, segment):
    for method, path in CALLS:
        assert api.send(method, path.format(id=segment), b"{}").status_code < 500


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
any_text = st.text(st.characters(exclude_categories=())) | st.sampled_from(TEXTS)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True)
@given(
    path=st.sampled_from(POSTS),
    members=st.dictionaries(st.sampled_from(sorted({name for names in MEMBERS.values() for name in names})), json_values | any_text),
    mend=st.booleans(),
)
def test_no_document_at_all_is_a_server_error(api, path, members, mend):
    document = {"leaseToken": AN_ID, "name": "x", "fileId": AN_ID, "publicKey": "", "problemTypes": [], "jobs": []} if mend else {}

    answer = api.post(path.format(id=AN_ID), document | members)

    assert answer.status_code < 500, answer.content


@settings(max_examples=120, deadline=None, derandomize=True)
@given(st.dictionaries(any_text, json_values | any_text, max_size=5), st.sampled_from([None, 1, 7]))
def test_both_ways_of_reading_a_body_agree(document, indent):
    """msgspec's members are the standard library's, which reads what msgspec refuses for a lone surrogate."""
    text = json.dumps(document, indent=indent)

    walked = json_text._walked(text, otherwise=ValueError())

    assert json_text.members(text) == walked
    assert {name: json.loads(written) for name, written in (walked or {}).items()} == document


@settings(max_examples=120, deadline=None, derandomize=True)
@given(st.dictionaries(any_text, json_values | any_text, max_size=5), st.sampled_from([None, 1, 7]), st.booleans())
def test_a_squeezed_document_says_the_same_in_fewest_bytes(document, indent, ascii_only):
    squeezed = json_text.squeezed(json.dumps(document, indent=indent, ensure_ascii=ascii_only))

    assert json.loads(squeezed) == document
    assert json_text.squeezed(squeezed) == squeezed
    assert len(squeezed.encode()) <= len(json.dumps(document, separators=(",", ":")).encode())
    assert "\x00" not in squeezed


@settings(max_examples=120, deadline=None, derandomize=True)
@given(st.binary(max_size=40) | st.text('{}[]",:\\u0d8e1-. tnfa', max_size=30).map(str.encode))
def test_what_is_no_json_is_said_to_be_none(body):
    try:
        expected = json.loads(body.decode(), parse_constant=lambda word: 1 / 0)
    except (ValueError, ZeroDivisionError):
        expected = NotImplemented

    try:
        found = json_text.members(body.decode())
    except ValueError:
        assert expected is NotImplemented
    else:
        assert (found is None) == (not isinstance(expected, dict))
