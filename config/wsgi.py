"""The site as a WSGI application: for the admin alone, or behind the front of config/asgi.py."""

import os
from typing import Any

import django
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")


class Request(WSGIRequest):
    """A request, whatever its Content-Type says.

    Django reads that header outside everything that could answer an error: a charset nobody knows would be a 500.
    """

    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        try:
            super()._set_content_type_params(meta)  # type: ignore[misc]
        except ValueError:
            self.content_type, self.content_params = "", {}


class Site(WSGIHandler):
    """Django's handler, making those requests."""

    request_class = Request


django.setup(set_prefix=False)
application = Site()
