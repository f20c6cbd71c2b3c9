"""Accounts, roles, second factors and lockouts, in the site's own look and with no secret on any page."""

from __future__ import annotations

from typing import Any

from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from axes.utils import reset
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice
from unfold.decorators import display
from unfold.enums import ActionVariant
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from judging import marks
from judging.admin.actions import Reason, Said, act
from judging.admin.pages import Page, Watched

# Stock pages of third parties: in another look, with secrets on them, or with deletes that ask for no reason.
for model in (User, Group, TOTPDevice, StaticDevice, AccessAttempt, AccessFailureLog, AccessLog):
    if admin.site.is_registered(model):
        admin.site.unregister(model)


@admin.register(User)
class AccountPages(UserAdmin, Page):
    """Everybody who can log in: operators, and participants."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_filter = ("is_staff", "is_active", "groups")
    actions = None
    when_empty = "Nobody has an account yet."

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody: what people did keeps their name. Make an account inactive instead."""
        return False


@admin.register(Group)
class RolePages(GroupAdmin, Page):  # type: ignore[misc]
    """What an account may do, by role."""

    actions: Any = None
    when_empty = "Roles are made by the migrations."


@admin.register(TOTPDevice)
class SecondFactorPages(Watched):
    """Which operators have a second factor. The secrets are shown nowhere."""

    change_form_template = "operators/factor.html"
    list_display: Any = ["user", "name", "since", "used"]
    list_select_related = ["user"]
    search_fields = ("user__username",)
    when_empty = "Nobody has a second factor. On the server: python3 manage.py operator_otp NAME"
    actions_detail = ["remove"]

    @display(description="Since")
    def since(self, device: TOTPDevice) -> SafeString:
        """When it was made."""
        return marks.moment(device.created_at)

    @display(description="Last used")
    def used(self, device: TOTPDevice) -> SafeString:
        """When it last let somebody in."""
        return marks.moment(device.last_used_at)

    def shown(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """One device."""
        return {"title": f"Second factor of {row.user}", "device": row}

    @act(
        "Remove",
        permission="otp_totp.delete_totpdevice",
        text="The operator cannot log in until a new one is made on the server: for a phone that was lost.",
        submit="Remove it",
        form=Reason,
        icon="delete",
        variant=ActionVariant.DANGER,
        then="changelist",
    )
    def remove(self, request: HttpRequest, row: TOTPDevice, said: Said) -> str:
        """Take a lost device out."""
        TOTPDevice.objects.filter(id=row.id).delete()
        return f"The second factor of {row.user} was removed."


@admin.register(AccessAttempt)
class LockoutPages(Watched):
    """Names that failed to log in lately."""

    change_form_template = "operators/lockout.html"
    list_display: Any = ["username", "ip_address", "failures_since_start", "at"]
    search_fields = ("username", "ip_address")
    when_empty = "Nobody failed to log in lately."
    actions_detail = ["unlock"]

    @display(description="Last attempt")
    def at(self, attempt: AccessAttempt) -> SafeString:
        """When it failed last."""
        return marks.moment(attempt.attempt_time)

    def shown(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """One name at one address; what was typed is not shown."""
        return {"title": row.username or "no name", "attempt": row}

    @act(
        "Let in again",
        permission="axes.delete_accessattempt",
        text="The failures are forgotten, and the name may try again at once.",
        submit="Forget the failures",
        form=Reason,
        icon="lock_open",
        then="changelist",
    )
    def unlock(self, request: HttpRequest, row: AccessAttempt, said: Said) -> str:
        """Forget the failures of a name at an address."""
        reset(username=row.username, ip=row.ip_address)
        return f"{row.username} may try again."
