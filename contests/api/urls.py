"""The addresses of participants and operators, below /api/v1/. Existing clients use exactly these."""

from typing import Any

from django.urls import path
from rest_framework.permissions import AllowAny

from contests.api.activities import Activities
from contests.api.identity import Identity
from contests.api.operators import Judging
from contests.api.publications import Publications
from contests.api.runners import Runners
from contests.api.submissions import Submissions

# Not behind a login, or not behind maintenance: everything else is.
EVERYBODY: dict[str, Any] = {"permission_classes": [AllowAny]}
ALWAYS: dict[str, Any] = {"shut_at": frozenset()}

enrol = Activities.as_view({"post": "enrol"})

urlpatterns = [
    path("identity/login", Identity.as_view({"post": "login"}, **EVERYBODY, **ALWAYS)),
    path("identity/logout", Identity.as_view({"post": "logout"}, **EVERYBODY, **ALWAYS)),
    path("identity/me", Identity.as_view({"get": "me"}, **ALWAYS)),
    path("activities", Activities.as_view({"get": "browse"})),
    path("activities/<slug:slug>", Activities.as_view({"get": "retrieve"})),
    path("activities/<slug:slug>/enrolment", enrol),
    path("activities/<slug:slug>/enrollment", enrol),
    path("activities/<slug:slug>/tags", Activities.as_view({"post": "retag"})),
    path("activities/<slug:slug>/problems/<slug:problem>/submissions", Submissions.as_view({"post": "create"})),
    path("activities/<slug:slug>/submissions", Submissions.as_view({"get": "browse"})),
    path("activities/<slug:slug>/submissions/<uuid:submission>", Submissions.as_view({"get": "retrieve"}), name="submission"),
    path("activities/<slug:slug>/publications", Publications.as_view({"get": "browse"})),
    path("activities/<slug:slug>/publications/<int:number>", Publications.as_view({"get": "retrieve"})),
    path("submissions/<uuid:submission>/rejudge", Judging.as_view({"post": "rejudge"})),
    path("submissions/<uuid:submission>/attempts/<uuid:job>/cancel", Judging.as_view({"post": "cancel"})),
    path("runners", Runners.as_view({"get": "browse"})),
    path("runners/<uuid:runner>/approve", Runners.as_view({"post": "approve"})),
    path("runners/<uuid:runner>/revoke", Runners.as_view({"post": "revoke"})),
    path("runners/<uuid:runner>/tags", Runners.as_view({"post": "retag"})),
    path("maintenance", Judging.as_view({"post": "maintain"}, **ALWAYS)),
]
