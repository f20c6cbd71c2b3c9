"""Logging in: contests/api/identity.py and authentication.py."""

import json

import pytest
from django.contrib.sessions.models import Session
from django.test import Client, override_settings
from django_otp.plugins.otp_static.models import StaticDevice

from tests.contests.conftest import API, PASSWORD, account, logged_in

LOGIN = f"{API}/identity/login?useSessionCookies=true"
pytestmark = pytest.mark.django_db(transaction=True)


def login(client, name="student", password=PASSWORD, **more):
    return client.post(LOGIN, {"email": name, "password": password, **more}, content_type="application/json")


@pytest.fixture
def client():
    """One that would notice a CSRF check."""
    return Client(enforce_csrf_checks=True)


def test_a_login_answers_who_it_is_and_opens_the_door(client):
    user = account("student", first_name="Ada", last_name="L")

    answer = login(client)

    assert answer.status_code == 200
    assert answer.json() == {"id": user.pk, "email": "student", "name": "Ada L", "isOperator": False}
    assert client.get(f"{API}/identity/me").json() == answer.json()


def test_the_session_cookie_is_kept_from_scripts_and_other_sites_and_ends_with_the_browser(client):
    account("student")

    cookie = login(client).cookies["sessionid"]

    assert (cookie["samesite"], cookie["httponly"], cookie["max-age"]) == ("Lax", True, "")


def test_a_login_without_session_cookies_outlives_the_browser(client):
    account("student")

    answer = client.post(f"{API}/identity/login", {"email": "student", "password": PASSWORD}, content_type="application/json")

    assert answer.cookies["sessionid"]["max-age"] > 0


@pytest.mark.parametrize("name", ["student", "nobody"])
def test_a_wrong_password_and_an_unknown_name_are_one_answer(client, name):
    account("student")

    answer = login(client, name, "wrong")

    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert answer.json()["detail"] == login(client, "student", "wrong").json()["detail"]
    assert Session.objects.count() == 0


def test_an_account_that_was_shut_logs_in_no_more(client):
    account("student", is_active=False)

    assert login(client).status_code == 401


def test_a_session_of_an_account_that_was_shut_opens_nothing():
    user = account("student")
    client = logged_in(user)
    user.is_active = False
    user.save()

    assert client.get(f"{API}/identity/me").status_code == 401


def test_who_guesses_too_often_is_told_to_slow_down(client, settings):
    settings.AXES_ENABLED, settings.AXES_FAILURE_LIMIT = True, 3
    account("student")

    guesses = [login(client, password=f"guess {number}") for number in range(3)]
    right = login(client)

    assert [guess.status_code for guess in guesses] == [401, 401, 429]
    assert (right.status_code, right.json()["code"]) == (429, "rate.limited")
    assert int(right["Retry-After"]) > 0


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", "malformed_json"),
        (b"\xff\xfe", "malformed_json"),
        (b'{"email": NaN, "password": "x"}', "malformed_json"),
        (b"[" * 100_000, "malformed_json"),
        (b"9" * 10_000, "malformed_json"),
        (b"[]", "malformed_request"),
        (b"{}", "malformed_request"),
        (b'{"email": "student\\u0000", "password": "x"}', "malformed_request"),
        (b'{"email": "\\ud800", "password": "x"}', "malformed_request"),
        (b'{"email": {"a": 1}, "password": []}', "malformed_request"),
        (json.dumps({"email": "n" * 10_000, "password": "x"}).encode(), "malformed_request"),
    ],
)
def test_whatever_the_body_is_it_is_refused_with_a_code(client, body, code):
    answer = client.post(LOGIN, body, content_type="application/json")

    assert (answer.status_code, answer.json()["code"]) == (400, code)


def test_ten_megabytes_of_json_are_too_many(client):
    answer = client.post(LOGIN, b'{"email":"' + b"x" * 10_000_000, content_type="application/json")

    assert (answer.status_code, answer.json()["code"]) == (413, "payload_too_large")


def test_a_form_of_a_page_is_no_login(client):
    answer = client.post(LOGIN, {"email": "student", "password": PASSWORD})

    assert answer.status_code == 415


def test_logging_out_ends_the_session_and_may_be_repeated(client):
    account("student")
    login(client)

    assert [client.post(f"{API}/identity/logout").status_code for _ in range(2)] == [204, 204]
    assert client.get(f"{API}/identity/me").status_code == 401
    assert Session.objects.count() == 0


# Never usable from another site.


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://testserver.evil.example"},
        {"Origin": "https://testserver"},
        {"Origin": "http://["},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
@pytest.mark.parametrize("path", ["identity/login", "identity/logout", "activities/SPRING/enrolment"])
def test_another_site_changes_nothing_in_anybodys_name(contest, student, headers, path):
    answer = student.post(f"{API}/{path}", {"email": "x", "password": "x"}, content_type="application/json", headers=headers)

    assert (answer.status_code, answer.json()["code"]) == (403, "request.crossSite")
    assert student.get(f"{API}/identity/me").status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "http://testserver"},
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "https://app.school.example"},
    ],
)
def test_programs_our_own_pages_and_trusted_origins_may(client, settings, headers):
    settings.CSRF_TRUSTED_ORIGINS = ["https://*.school.example"]
    account("student")

    answer = client.post(LOGIN, {"email": "student", "password": PASSWORD}, content_type="application/json", headers=headers)

    assert answer.status_code == 200


def test_reading_from_another_site_is_the_browsers_to_prevent(contest, student):
    answer = student.get(f"{API}/identity/me", headers={"Origin": "https://evil.example"})

    assert answer.status_code == 200
    assert "Access-Control-Allow-Origin" not in answer


# The second factor.


def test_an_operator_without_the_second_factor_that_is_due_is_none(client):
    account("admin", is_staff=True, is_superuser=True)
    with override_settings(OPERATOR_2FA=True):
        login(client, "admin")

        assert client.get(f"{API}/runners").status_code == 403


@pytest.fixture
def second_factor():
    device = StaticDevice.objects.create(user=account("admin", is_staff=True, is_superuser=True), confirmed=True)
    device.token_set.create(token="right")


def test_an_operator_shows_the_second_factor_at_the_login(client, second_factor, settings):
    settings.OPERATOR_2FA = True

    assert login(client, "admin", otp="right").status_code == 200
    assert client.get(f"{API}/runners").status_code == 200


def test_a_wrong_second_factor_is_no_login(client, second_factor):
    assert login(client, "admin", otp="wrong").status_code == 401
    assert client.get(f"{API}/identity/me").status_code == 401
