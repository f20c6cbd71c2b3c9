"""Who gets into the operators' site."""

import io

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client, override_settings
from django_otp.oath import TOTP
from django_otp.plugins.otp_static.models import StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

pytestmark = pytest.mark.django_db

WHO = {"username": "root", "password": "secret"}
with_2fa = override_settings(OPERATOR_2FA=True)


def inside(client):
    return client.get("/admin/").status_code == 200


def log_in(client, **typed):
    return client.post("/admin/login/", WHO | typed)


def made(name="root"):
    out = io.StringIO()
    call_command("operator_otp", name, stdout=out)
    return out.getvalue()


def code_now(device):
    totp = TOTP(device.bin_key, device.step, device.t0, device.digits)
    return f"{totp.token():06d}"


def test_a_password_is_enough_where_the_setting_is_off(admin):
    client = Client()

    log_in(client)

    assert inside(client)


def test_an_account_that_is_no_operator_stays_out(db):
    User.objects.create_user("student", password="secret")
    client = Client()

    answer = log_in(client, username="student")

    assert answer.status_code == 200
    assert not inside(client)


@with_2fa
def test_a_password_alone_opens_nothing_where_a_second_factor_is_asked_for(admin):
    made()
    client = Client()

    log_in(client)

    assert not inside(client)


@with_2fa
def test_the_app_s_code_lets_an_operator_in(admin):
    made()
    client = Client()

    log_in(client, otp_token=code_now(TOTPDevice.objects.get()))

    assert inside(client)


@with_2fa
def test_a_code_is_good_once(admin):
    made()
    code = code_now(TOTPDevice.objects.get())
    log_in(Client(), otp_token=code)
    thief = Client()

    log_in(thief, otp_token=code)

    assert not inside(thief)


@with_2fa
def test_a_recovery_code_lets_an_operator_in_and_is_spent(admin):
    made()
    code = StaticToken.objects.first().token
    first, second = Client(), Client()

    log_in(first, otp_token=code)
    log_in(second, otp_token=code)

    assert inside(first)
    assert not inside(second)


@with_2fa
def test_a_recovery_code_does_not_count_against_the_app(admin):
    made()

    log_in(Client(), otp_token="notacode")

    assert TOTPDevice.objects.get().throttling_failure_count == 0


@with_2fa
def test_without_a_code_the_answer_does_not_tell_whether_the_password_was_right(admin):
    made()

    right = log_in(Client(), otp_token="")
    wrong = log_in(Client(), otp_token="", password="guess")

    assert right.context["form"].errors == wrong.context["form"].errors


@with_2fa
def test_a_wrong_code_and_a_wrong_password_are_answered_alike(admin):
    made()

    code = log_in(Client(), otp_token="000000")
    password = log_in(Client(), otp_token="000000", password="guess")

    assert code.context["form"].errors == password.context["form"].errors


@with_2fa
def test_an_operator_without_a_second_factor_is_told_how_to_get_one(admin):
    answer = log_in(Client(), otp_token="123456")

    assert "operator_otp" in answer.content.decode()


@with_2fa
def test_a_session_of_the_participants_api_does_not_open_the_admin(admin):
    client = Client()
    client.force_login(admin)

    assert not inside(client)


def test_the_session_lasts_a_shift(admin, settings):
    client = Client()

    log_in(client)

    shift = settings.OPERATOR_SESSION.total_seconds()
    assert shift - 60 < client.session.get_expiry_age() <= shift


@override_settings(AXES_ENABLED=True, AXES_FAILURE_LIMIT=3)
def test_a_name_that_guesses_is_locked_out_even_with_the_right_password(admin):
    client = Client()
    for _ in range(3):
        log_in(client, password="guess")

    answer = log_in(client)

    assert answer.status_code == 429
    assert not inside(client)


def test_the_command_prints_what_an_app_needs(admin):
    said = made()

    assert "otpauth://totp/" in said
    assert "Secret:" in said


def test_the_command_does_not_replace_a_second_factor_by_accident(admin):
    made()

    with pytest.raises(CommandError, match="--replace"):
        made()


def test_the_command_knows_operators_only(db):
    User.objects.create_user("student")

    with pytest.raises(CommandError, match="no operator"):
        made("student")


def test_no_page_shows_a_secret(client, admin):
    made()
    device = TOTPDevice.objects.get()

    for address in ("/admin/otp_totp/totpdevice/", f"/admin/otp_totp/totpdevice/{device.id}/change/"):
        page = client.get(address)
        assert page.status_code == 200
        assert device.key not in page.content.decode()


def test_the_stock_pages_that_would_show_secrets_are_gone(client, admin):
    made()
    device = TOTPDevice.objects.get()

    assert client.get(f"/admin/otp_totp/totpdevice/{device.id}/config/").status_code != 200
    assert client.get("/admin/otp_static/staticdevice/").status_code == 404


def test_the_bare_name_leads_operators_to_their_pages(client):
    answer = client.get("/")

    assert (answer.status_code, answer["Location"]) == (302, "/admin/")
