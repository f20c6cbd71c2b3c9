"""Django's registration of the judging app."""

from django.apps import AppConfig


class JudgingConfig(AppConfig):
    """The judging app."""

    name = "judging"
    default_auto_field = "django.db.models.BigAutoField"
