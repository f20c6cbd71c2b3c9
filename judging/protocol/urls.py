"""Every address of the runner surface, under /api/v1/ (runner-protocol §2). None ends in a slash; none redirects."""

from django.urls import path

from judging.protocol.batches import Batches
from judging.protocol.files import Files
from judging.protocol.identity import Challenges, Registration, Tokens
from judging.protocol.jobs import Jobs
from judging.protocol.presence import HealthCheck, Presence

urlpatterns = [
    path("health", HealthCheck.as_view({"get": "health"})),
    path("runner/register", Registration.as_view({"post": "register"})),
    path("runner/auth/challenge", Challenges.as_view({"post": "challenge"})),
    path("runner/auth/token", Tokens.as_view({"post": "token"})),
    path("runner/jobs/claim", Jobs.as_view({"post": "claim"})),
    path("runner/jobs/leases", Batches.as_view({"post": "renew"})),
    path("runner/jobs/releases", Batches.as_view({"post": "release"})),
    path("runner/jobs/<str:job>/lease", Jobs.as_view({"post": "renew"})),
    path("runner/jobs/<str:job>/progress", Jobs.as_view({"post": "progress"})),
    path("runner/jobs/<str:job>/release", Jobs.as_view({"post": "release"})),
    path("runner/jobs/<str:job>/report", Jobs.as_view({"post": "report"})),
    path("runner/jobs/<str:job>/files", Files.as_view({"post": "attach"})),
    path("runner/files", Files.as_view({"post": "upload"})),
    path("runner/files/attach", Files.as_view({"post": "attach_to_runner"})),
    path("runner/files/<str:file>", Files.as_view({"get": "download"})),
    path("runner/heartbeat", Presence.as_view({"post": "heartbeat"})),
    path("runner/trials/claim", Presence.as_view({"post": "claim_trial"})),
]
