"""The gravest acts ask for the password again: a session that was left open must not end a key or a result."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib.auth import authenticate
from django.utils import timezone
from unfold.widgets import UnfoldAdminPasswordWidget

from judging.admin.actions import Reason

SWORN_FOR = timedelta(minutes=10)
SWORN_AT = "sworn_at"


class Sworn(Reason):
    """Why, and by whom: the password, unless it was given within the last minutes of this session."""

    password = forms.CharField(
        label="Your password",
        strip=False,
        widget=UnfoldAdminPasswordWidget({"autocomplete": "current-password"}),
        help_text="Asked again because this cannot be taken back.",
    )

    def __init__(self, *given: Any, **about: Any) -> None:
        super().__init__(*given, **about)
        if self._is_sworn():
            del self.fields["password"]

    def _is_sworn(self) -> bool:
        """By this server's own clock: only convenience hangs on it."""
        at = self.request.session.get(SWORN_AT)
        return at is not None and timezone.now() - datetime.fromisoformat(at) < SWORN_FOR

    def clean(self) -> dict[str, Any]:
        """Through the login's own backends, so that wrong passwords here count towards its lockout."""
        said: dict[str, Any] = super().clean() or {}
        password = said.pop("password", None)
        if password is None:
            return said
        user = authenticate(self.request, username=self.request.user.get_username(), password=password)
        if user is None or user.pk != self.request.user.pk:
            self.add_error("password", "This is not your password.")
        else:
            self.request.session[SWORN_AT] = timezone.now().isoformat()
        return said
