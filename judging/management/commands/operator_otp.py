"""Give an operator a second factor, on the server: whoever can do this could read the database anyway."""

from __future__ import annotations

import base64
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

RECOVERY_CODES = 8


class Command(BaseCommand):
    """Makes the device and prints, once, what the authenticator app needs."""

    help = "Print a new second factor for an operator: the secret and address for an authenticator app, and recovery codes."

    def add_arguments(self, parser: CommandParser) -> None:
        """The login name, and whether to replace what there is."""
        parser.add_argument("user", help="the operator's login name")
        parser.add_argument("--replace", action="store_true", help="even if there is one already; the old one stops working")

    def handle(self, *args: Any, **options: Any) -> None:
        """Replace the operator's devices by new ones, in one step."""
        user = get_user_model().objects.filter(username=options["user"], is_staff=True).first()
        if user is None:
            raise CommandError(f"There is no operator called {options['user']}. Make one: manage.py createsuperuser")
        if TOTPDevice.objects.filter(user=user).exists() and not options["replace"]:
            raise CommandError(f"{options['user']} has a second factor already; --replace makes a new one.")
        with transaction.atomic():
            TOTPDevice.objects.filter(user=user).delete()
            StaticDevice.objects.filter(user=user).delete()
            app = TOTPDevice.objects.create(user=user, name="app")
            codes = self._recovery_codes(user)
        self.stdout.write(f"Secret:   {base64.b32encode(app.bin_key).decode()}")
        self.stdout.write(f"Address:  {app.config_url}")
        self.stdout.write(f"Recovery: {' '.join(codes)}")

    def _recovery_codes(self, user: Any) -> list[str]:
        """Codes that each let in once, for a phone that was lost."""
        device = StaticDevice.objects.create(user=user, name="recovery codes")
        codes = [StaticToken.random_token() for _ in range(RECOVERY_CODES)]
        StaticToken.objects.bulk_create(StaticToken(device=device, token=code) for code in codes)
        return codes
