"""Every address of the site: pages and the admin for people, /api/v1/ for programs."""

from django.contrib import admin
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import URLPattern, URLResolver, include, path, re_path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerView

from judging.admin import dashboard
from judging.protocol.problem_details import unknown_route


def front_page(_request: HttpRequest) -> HttpResponseRedirect:
    """People who type the bare name are operators: everybody else's addresses are a program's."""
    return HttpResponseRedirect("/admin/")


urlpatterns: list[URLPattern | URLResolver] = [
    path("admin/", include(dashboard.urls())),
    path("admin/", admin.site.urls),
    path("api/v1/", include("judging.protocol.urls")),
    path("api/v1/", include("contests.api.urls")),
    path("api/v1/schema/", SpectacularAPIView.as_view(), name="schema"),
    path("api/v1/docs/", SpectacularSwaggerView.as_view(), name="docs"),
    path("", front_page),
    path("", include("judging.channel.urls")),
    # Last under the prefix: programs are told in their own form that there is nothing.
    re_path(r"^api/v1(?![^/])", unknown_route),
]
