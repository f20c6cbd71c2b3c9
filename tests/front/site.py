"""A tiny site behind the real front: a queue of one table, served by gunicorn in a process of its own."""

import io
import json
import math
import os
import sys
import time
from datetime import timedelta
from uuid import UUID, uuid4

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import connection, transaction
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse, StreamingHttpResponse, UnreadablePostError
from django.urls import path
from psycopg.conninfo import conninfo_to_dict

from config.front import Front
from judging.wake import Everyone, Fits, Judged, Look, Work, announce

given = conninfo_to_dict(os.environ["DATABASE_URL"])
settings.configure(
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    SECRET_KEY="of a test",
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": given.pop("dbname"),
            "OPTIONS": {"pool": {"min_size": 1, "max_size": 16, "num_workers": 1}, **given, "application_name": "site"},
        }
    },
    DATA_UPLOAD_MAX_MEMORY_SIZE=2**20,
    TICKER_SECONDS=0.3,
    FRONT_THREADS={"calls": 7, "again": 3, "files": 2, "pages": 3, "ticks": 1},
)

TAKE = """
DELETE FROM fake_job WHERE id = (SELECT id FROM fake_job WHERE kind = ANY(%s) ORDER BY at LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING id
"""


def _rows(sql, *values):
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall() if cursor.description else []


def _count(name):
    _rows("INSERT INTO fake_count VALUES (%s, 1) ON CONFLICT (name) DO UPDATE SET value = fake_count.value + 1", name)


def claim(request: HttpRequest) -> HttpResponse:
    """A claim: `kinds`, `waitSeconds`, and what the tests steer: `slow` seconds in the look, `until` the token ends."""
    asked = json.loads(request.body or b"{}")
    look = Look.of(request.META)
    _count("looks")
    if _rows("SELECT 1 FROM fake_count WHERE name = 'closed'"):
        return HttpResponse(status=403)
    if asked.get("ends_at", math.inf) <= time.time():
        return HttpResponse(status=401)
    taken = _rows(TAKE, asked.get("kinds", ["a"]))
    time.sleep(asked.get("slow", 0))
    look.wait_seconds = asked.get("waitSeconds")
    look.until = asked["ends_at"] - time.time() if "ends_at" in asked else None
    if not taken:
        look.fits = Fits(frozenset(asked.get("kinds", ["a"])), external=False, pools=frozenset({"default"}))
        return HttpResponse(status=204)
    look.handout = (taken[0][0], uuid4())
    return JsonResponse({"job": str(taken[0][0]), "note": asked.get("note")})


def enqueue(request: HttpRequest, kind: str) -> HttpResponse:
    """Add jobs: `?n=` of them in one transaction, announced once; `?quiet` not at all."""
    with transaction.atomic():
        for _ in range(int(request.GET.get("n", 1))):
            _rows("INSERT INTO fake_job (id, kind) VALUES (%s, %s)", uuid4(), kind)
        if "quiet" not in request.GET:
            announce(Work(kind, False, frozenset({"default"})))
    return HttpResponse(status=201)


def submission(request: HttpRequest, pk: UUID) -> HttpResponse:
    """A submission's document, which may be awaited."""
    look = Look.of(request.META)
    judged = _rows("SELECT judged FROM fake_submission WHERE id = %s", pk)[0][0]
    if not judged:
        look.awaiting = pk
        look.wait_seconds = float(request.GET.get("waitSeconds", 0))
    return JsonResponse({"judged": judged, "at": time.time()})


def judge(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Give the verdict."""
    with transaction.atomic():
        _rows("UPDATE fake_submission SET judged = true WHERE id = %s", pk)
        announce(Judged(pk))
    return HttpResponse(status=204)


def close(request: HttpRequest) -> HttpResponse:
    """From now on every claim is refused."""
    with transaction.atomic():
        _count("closed")
        announce(Everyone())
    return HttpResponse(status=204)


def upload(request: HttpRequest) -> HttpResponse:
    """Count the bytes that come, a block at a time."""
    size = 0
    try:
        while block := request.read(2**16):
            size += len(block)
    except UnreadablePostError:
        _count("cut")
        raise
    return JsonResponse({"size": size})


def refuse(request: HttpRequest) -> HttpResponse:
    """Answer without reading."""
    return HttpResponse(status=401)


def endless(request: HttpRequest) -> HttpResponseBase:
    """A stream that ends only with its reader."""

    def blocks():
        try:
            while True:
                yield bytes(2**16)
        finally:
            _count("ended")

    return StreamingHttpResponse(blocks())


def echo(request: HttpRequest) -> HttpResponse:
    """Answer with the body and with what became of the request line."""
    return JsonResponse({"body": request.body.decode(), "path": request.path, "spoofed": request.META.get("HTTP_X_ROLE")})


def download(request: HttpRequest) -> HttpResponseBase:
    """As many zero bytes as asked, streamed."""
    return FileResponse(io.BytesIO(bytes(int(request.GET["size"]))), content_type="application/octet-stream")


def slow(request: HttpRequest) -> HttpResponse:
    """A page that takes its time."""
    time.sleep(float(request.GET["seconds"]))
    return HttpResponse("done")


def turn(request: HttpRequest) -> HttpResponse:
    """How long one thread may keep the interpreter from the others."""
    return JsonResponse({"seconds": sys.getswitchinterval()})


def sweep_if_due(every: timedelta) -> None:
    """The ticker's verb."""
    _count("sweeps")
    if _rows("SELECT 1 FROM fake_count WHERE name = 'failing'"):
        raise RuntimeError("a sweep that fails, as the test wants")


def undo_handout(job: UUID, *, token: UUID) -> None:
    """Put the job back as its first, and wake."""
    with transaction.atomic():
        _rows("INSERT INTO fake_job VALUES (%s, 'a', now() - interval '1 hour')", job)
        _count("undone")
        announce(Work("a", False, frozenset({"default"})))


urlpatterns = [
    path("api/v1/runner/jobs/claim", claim),
    path("api/v1/runner/files", upload),
    path("api/v1/runner/files/refuse", refuse),
    path("api/v1/runner/files/zeros", download),
    path("api/v1/runner/files/endless", endless),
    path("api/v1/runner/echo", echo),
    path("api/v1/submissions/<uuid:pk>", submission),
    path("api/v1/submissions/<uuid:pk>/judge", judge),
    path("enqueue/<kind>", enqueue),
    path("close", close),
    path("echo/<path:rest>", lambda request, rest: echo(request)),
    path("slow", slow),
    path("turn", turn),
]

application = Front(get_wsgi_application(), sweep="tests.front.site.sweep_if_due", undo="tests.front.site.undo_handout")
