"""Django's registration of the runners app."""

from django.apps import AppConfig


class RunnersConfig(AppConfig):
    """The runners app."""

    name = "runners"
    default_auto_field = "django.db.models.BigAutoField"
