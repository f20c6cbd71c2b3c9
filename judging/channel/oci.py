"""The packages as a read-only OCI registry, for the holder of a job alone (channel-protocol §5)."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

import msgspec
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from judging import files
from judging.channel.packages import CONFIG, MANIFEST_TYPE, Package, digest_of, manifest
from judging.channel.tokens import AUDIENCE, Pull, pull_of
from judging.durable import let_go
from judging.errors import StorageUnavailable
from judging.models import ProblemVersion
from judging.protocol.reading import identifier

View = Callable[..., HttpResponseBase]
METHODS = ("GET", "HEAD")
API = ("Docker-Distribution-Api-Version", "registry/2.0")


def _refused(status: HTTPStatus, code: str, words: str) -> HttpResponse:
    document = {"errors": [{"code": code, "message": words}]}
    return HttpResponse(msgspec.json.encode(document), status=status, content_type="application/json")


def _door(view: View) -> View:
    """Around each address: its methods, and a token that opens something."""

    @csrf_exempt
    def entered(request: HttpRequest, **path: str) -> HttpResponseBase:
        response = _answered(view, request, path)
        response[API[0]] = API[1]
        return response

    return entered


def _answered(view: View, request: HttpRequest, path: dict[str, str]) -> HttpResponseBase:
    if request.method not in METHODS:
        refused = _refused(HTTPStatus.METHOD_NOT_ALLOWED, "UNSUPPORTED", "This registry is only read.")
        refused["Allow"] = ", ".join(METHODS)
        return refused
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    pull = pull_of(token.strip()) if scheme.lower() == "bearer" else None
    if pull is None:
        refused = _refused(HTTPStatus.UNAUTHORIZED, "UNAUTHORIZED", "A token of a held job is required.")
        refused["WWW-Authenticate"] = f'Bearer realm="{request.build_absolute_uri("/v2/")}",service="{AUDIENCE}"'
        return refused
    return view(request, pull, **path)


def _repository(view: View) -> View:
    """Around each address below a repository: the token's own, no other."""

    def entered(request: HttpRequest, pull: Pull, problem: str, digest: str) -> HttpResponseBase:
        if identifier(problem) != pull.repository:
            return _refused(HTTPStatus.FORBIDDEN, "DENIED", "This token is for another repository.")
        return view(pull.version, digest)

    return entered


@_door
def api(request: HttpRequest, pull: Pull) -> HttpResponseBase:
    """That this is a registry."""
    return HttpResponse(b"{}", content_type="application/json")


@_door
@_repository
def manifests(version: ProblemVersion, digest: str) -> HttpResponseBase:
    """The manifest of the package, by its digest."""
    document = manifest(package_of(version))
    if digest != digest_of(document):
        return _refused(HTTPStatus.NOT_FOUND, "MANIFEST_UNKNOWN", "There is no such manifest.")
    return _content(HttpResponse(document, content_type=MANIFEST_TYPE), digest)


@_door
@_repository
def blobs(version: ProblemVersion, digest: str) -> HttpResponseBase:
    """The package itself, or the empty configuration."""
    if digest == digest_of(CONFIG):
        return _content(HttpResponse(CONFIG, content_type="application/octet-stream"), digest)
    if version.package is None or digest != f"sha256:{version.package.sha256}":
        return _refused(HTTPStatus.NOT_FOUND, "BLOB_UNKNOWN", "There is no such blob.")
    try:
        opened = files.open_file(version.package)
    except StorageUnavailable as away:
        return _refused(HTTPStatus.SERVICE_UNAVAILABLE, "UNAVAILABLE", away.detail)
    let_go()
    response = FileResponse(opened, content_type="application/octet-stream")
    response["Content-Length"] = str(version.package.size_bytes)
    return _content(response, digest)


def package_of(version: ProblemVersion) -> Package | None:
    """A version's package as the registry describes it."""
    stored = version.package
    return Package(stored.sha256, stored.size_bytes) if stored else None


def _content(response: HttpResponseBase, digest: str) -> HttpResponseBase:
    response["Docker-Content-Digest"] = digest
    return response
