"""The operators' login form: name, password, and the second factor where it is asked for."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.http import HttpRequest
from django_otp import devices_for_user
from django_otp.forms import OTPAuthenticationFormMixin
from django_otp.plugins.otp_totp.models import TOTPDevice
from unfold.forms import AuthenticationForm
from unfold.widgets import BASE_INPUT_CLASSES

TOTP_DIGITS = 6
WRONG = "Please enter the correct name, password and code of an operator's account."


class OperatorLogin(OTPAuthenticationFormMixin, AuthenticationForm):
    """One form for both factors, so that a wrong code does not tell a guesser that the password was right."""

    cleaned_data: dict[str, Any]
    otp_token = forms.CharField(
        label="Code",
        help_text="From your authenticator app, or a recovery code.",
        widget=forms.TextInput({"autocomplete": "one-time-code", "class": " ".join(BASE_INPUT_CLASSES)}),
    )

    otp_error_messages = OTPAuthenticationFormMixin.otp_error_messages | {
        "invalid_token": WRONG,
        "device_required": "This account has no second factor yet. On the server: python3 manage.py operator_otp NAME",
    }
    error_messages = AuthenticationForm.error_messages | {"invalid_login": WRONG}

    def __init__(self, request: HttpRequest | None = None, *args: Any, **kwargs: Any) -> None:
        super().__init__(request, *args, **kwargs)
        if not settings.OPERATOR_2FA:
            del self.fields["otp_token"]
            self.error_messages = AuthenticationForm.error_messages

    def clean(self) -> dict[str, Any]:
        """Both factors, the password first: the lockout counts wrong passwords, the device wrong codes."""
        if not settings.OPERATOR_2FA:
            return self._by_password()
        if not self.cleaned_data.get("otp_token"):
            # Without looking at the password: the answer must not tell whether it was right.
            return self.cleaned_data
        self.cleaned_data = self._by_password()
        self.clean_otp(self.get_user())
        return self.cleaned_data

    def _by_password(self) -> dict[str, Any]:
        said: dict[str, Any] = super().clean()
        return said

    def _chosen_device(self, user: Any) -> Any:
        """The app's device for six digits, else the recovery codes: trying all would count a failure against each."""
        token = self.cleaned_data["otp_token"].strip()
        digits = token.isdecimal() and len(token) == TOTP_DIGITS
        devices = list(devices_for_user(user))
        return next((device for device in devices if isinstance(device, TOTPDevice) == digits), None if not devices else devices[0])
