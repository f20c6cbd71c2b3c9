"""The addresses beside the channel itself, which is no HTTP: packages to pull, and jobs for operators."""

from django.urls import path

from judging.channel import jobs, oci

urlpatterns = [
    path("v0/projects/<str:named>/jobs/<str:job>", jobs.job),
    path("v2/", oci.api),
    path("v2/<str:problem>/manifests/<str:digest>", oci.manifests),
    path("v2/<str:problem>/blobs/<str:digest>", oci.blobs),
]
