"""Logging in with a one-time code, in a real browser."""

import io

import pytest
from django.core.management import call_command
from django_otp.oath import TOTP
from django_otp.plugins.otp_totp.models import TOTPDevice

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def device(operator, settings):
    """The operator's authenticator app, where a second factor is asked for."""
    settings.OPERATOR_2FA = True
    call_command("operator_otp", "operator", stdout=io.StringIO())
    return TOTPDevice.objects.get()


def test_a_wrong_code_is_refused_and_the_app_s_code_lets_in(visit, shoot, device):
    page = visit()
    page.goto("/admin/login/?next=/admin/")

    page.get_by_label("Username").fill("operator")
    page.get_by_label("Password").fill("correct horse")
    page.get_by_label("Code").fill("recovery-code-of-nobody")
    page.get_by_role("button", name="Log in").click()
    page.get_by_text("Please enter the correct name, password and code").wait_for()
    shoot(page, "login-with-a-code")
    page.get_by_label("Password").fill("correct horse")
    page.get_by_label("Code").fill(now(device))
    page.get_by_role("button", name="Log in").click()

    page.wait_for_url("**/admin/")
    page.get_by_role("status").first.wait_for()


def now(device):
    totp = TOTP(device.bin_key, device.step, device.t0, device.digits)
    return f"{totp.token():06d}"
