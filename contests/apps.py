"""Django's registration of the contests app."""

from django.apps import AppConfig


class ContestsConfig(AppConfig):
    """The contests app."""

    name = "contests"
    default_auto_field = "django.db.models.BigAutoField"
