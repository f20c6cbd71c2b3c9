"""The site that is measured: the real one, and beside it the floor of every call, a DRF view that only authenticates.

At one address it comes the way of all pages, through every middleware; at the other the runners' own way, past them.

Served by gunicorn from judging.bench.server. It finds the site's addresses and application by their names, as Django
does, because nothing in judging imports the project's package.
"""

import os

import django
from django.conf import settings
from django.http import JsonResponse
from django.urls import include, path
from django.utils.module_loading import import_string
from rest_framework.request import Request
from rest_framework.views import APIView

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from judging.protocol.authentication import RunnerBearer  # noqa: E402 - needs the apps

NOOPS = ("api/v1/noop", "api/v1/runner/noop")


class Noop(APIView):
    """Says that it is there, to a runner with a token."""

    authentication_classes = [RunnerBearer]
    permission_classes = []

    def post(self, request: Request) -> JsonResponse:
        """What any authenticated call costs on this server."""
        return JsonResponse({"echo": request.data})


urlpatterns = [*(path(where, Noop.as_view()) for where in NOOPS), path("", include(settings.ROOT_URLCONF))]
settings.ROOT_URLCONF = __name__
application = import_string("config.asgi.application")
