"""A foreign organization cannot tell an id, a key or a lease that exists from a made-up one (queue.md §4, await / read).

Every address with an id in it stands here, except for the admin site's, which are in tests/admin/test_foreign.py.
"""

import hashlib
import itertools
import json
from collections.abc import Iterator
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLResolver, get_resolver

from judging import queue
from judging.channel import tokens
from judging.wake import Look
from tests import factories, houses
from tests.contests.conftest import logged_in, program
from tests.houses import ROLES, House

pytestmark = pytest.mark.django_db(transaction=True)

# Each address with what may be asked there. {ours:…} is known to the caller, the others are theirs or made up.
DOORS = {
    "api/v1/activities/<slug:slug>": ["GET {slug}"],
    "api/v1/activities/<slug:slug>/enrolment": ["POST {slug}/enrolment"],
    "api/v1/activities/<slug:slug>/enrollment": ["POST {slug}/enrollment"],
    "api/v1/activities/<slug:slug>/tags": ["POST {slug}/tags"],
    "api/v1/activities/<slug:slug>/problems/<slug:problem>/submissions": [
        "POST {slug}/problems/A/submissions",
        "POST {slug}/problems/{problem}/submissions",
        "POST ours-cup/problems/{problem}/submissions",
    ],
    "api/v1/activities/<slug:slug>/submissions": [
        "GET {slug}/submissions",
        "GET {slug}/submissions?before={submission}",
        "GET ours-cup/submissions?before={submission}",
    ],
    "api/v1/activities/<slug:slug>/submissions/<uuid:submission>": [
        "GET {slug}/submissions/{submission}",
        "GET {slug}/submissions/{submission}?waitSeconds=20",
        "GET ours-cup/submissions/{submission}",
        "GET ours-cup/submissions/{submission}?waitSeconds=20",
        "GET ours-cup/submissions/{job}",
    ],
    "api/v1/activities/<slug:slug>/publications": ["GET {slug}/publications"],
    "api/v1/activities/<slug:slug>/publications/<int:number>": ["GET {slug}/publications/1"],
    "api/v1/submissions/<uuid:submission>/rejudge": ["POST /api/v1/submissions/{submission}/rejudge"],
    "api/v1/submissions/<uuid:submission>/attempts/<uuid:job>/cancel": [
        "POST /api/v1/submissions/{submission}/attempts/{job}/cancel",
        "POST /api/v1/submissions/{own}/attempts/{job}/cancel",
    ],
    "api/v1/runners/<uuid:runner>/approve": ["POST /api/v1/runners/{runner}/approve"],
    "api/v1/runners/<uuid:runner>/revoke": ["POST /api/v1/runners/{runner}/revoke"],
    "api/v1/runners/<uuid:runner>/tags": ["POST /api/v1/runners/{runner}/tags"],
    "v0/projects/<str:named>/jobs/<str:job>": ["GET /v0/projects/{library}/jobs/{job}"],
}
# Tested one by one below: a machine belongs to no organization.
OF_MACHINES = {
    "api/v1/runner/jobs/<str:job>/lease",
    "api/v1/runner/jobs/<str:job>/progress",
    "api/v1/runner/jobs/<str:job>/release",
    "api/v1/runner/jobs/<str:job>/report",
    "api/v1/runner/jobs/<str:job>/files",
    "api/v1/runner/files/<str:file>",
    "v2/<str:problem>/manifests/<str:digest>",
    "v2/<str:problem>/blobs/<str:digest>",
}
BODY = {"reason": "because", "urgent": False, "tags": ["hall"]}
CALLERS = ["nobody", "visitor", "pupil", *ROLES]


def addresses(resolver: URLResolver, before: str = "") -> Iterator[str]:
    for entry in resolver.url_patterns:
        whole = before + str(entry.pattern)
        if isinstance(entry, URLResolver):
            yield from addresses(entry, whole)
        else:
            yield whole


def test_every_address_with_an_id_in_it_is_tested_here():
    with_id = {place for place in addresses(get_resolver()) if "<" in place and not place.startswith("admin/")}

    assert with_id == DOORS.keys() | OF_MACHINES


@pytest.fixture
def both(transactional_db) -> tuple[House, House]:
    return houses.houses()


def caller(kind: str, ours: House) -> Client:
    if kind == "nobody":
        return Client()
    if kind == "visitor":
        return logged_in(User.objects.create_user("visitor"))
    if kind == "pupil":
        return logged_in(ours.participant.user)
    return ours.account(kind)


def ask(client: Client, door: str, ids: dict[str, object]):
    """The answer at a door and how many queries it took."""
    method, _, place = door.format(**ids).partition(" ")
    place = place if place.startswith("/") else f"/api/v1/activities/{place}"
    with CaptureQueriesContext(connection) as asked:
        if "problems" in place:
            answer = client.post(place, **program())
        elif method == "POST":
            answer = client.post(place, BODY, content_type="application/json")
        else:
            answer = client.get(place)
    return answer, len(asked)


@pytest.mark.parametrize("kind", CALLERS)
@pytest.mark.parametrize("door", list(itertools.chain(*DOORS.values())))
def test_theirs_and_a_made_up_one_are_one_answer(both, kind, door):
    ours, theirs = both
    client = caller(kind, ours)
    exists = {
        "slug": theirs.activity.slug,
        "problem": theirs.problem.slug,
        "submission": theirs.submission.id,
        "job": theirs.job.id,
        "runner": factories.box().id,
        "library": theirs.problem.id,
    }
    made_up = {name: "madeup-cup" if isinstance(value, str) else uuid4() for name, value in exists.items()}
    ask(client, door, made_up | {"own": ours.submission.id})  # what is asked once a session is asked by now

    of_theirs, queries = ask(client, door, exists | {"own": ours.submission.id})
    of_nothing, others = ask(client, door, made_up | {"own": ours.submission.id})

    assert of_theirs.status_code >= 400
    assert houses.said(of_theirs, *exists.values()) == houses.said(of_nothing, *made_up.values())
    assert queries == others


@pytest.mark.parametrize("named", ["theirs", "made up"])
def test_nobody_is_kept_waiting_for_theirs(both, named):
    ours, theirs = both
    open_one = queue.rejudge(theirs.submission.id, by="user:1", reason="", urgent=False)
    assert open_one
    wanted, look = theirs.submission.id if named == "theirs" else uuid4(), Look()

    place = f"/api/v1/activities/ours-cup/submissions/{wanted}?waitSeconds=20"
    answer = caller("pupil", ours).get(place, **{"asgi.scope": {"assize.look": look}})  # type: ignore[arg-type]

    assert (answer.status_code, look.awaiting, look.found_nothing) == (404, None, False)


def test_a_key_that_they_used_is_as_new_as_any(both):
    ours, theirs = both
    pupil = caller("pupil", ours)
    sending = "/api/v1/activities/{}-cup/problems/A/submissions"
    used = logged_in(theirs.participant.user).post(sending.format("theirs"), **program(b"print(1)"), headers={"Idempotency-Key": "k"})
    assert used.status_code == 201

    answers = [pupil.post(sending.format("ours"), **program(b"print(2)"), headers={"Idempotency-Key": key}) for key in ("k", "made up")]

    assert [answer.status_code for answer in answers] == [201, 201]
    one, other = (answer.json() for answer in answers)
    own = {"id", "createdAt", "attempts"}
    assert {name: value for name, value in one.items() if name not in own} == {k: v for k, v in other.items() if k not in own}
    assert answers[0].headers.keys() == answers[1].headers.keys()


# Machines. An approved one serves every organization; seed 000 gives it one bit, that an id names a job, and no more.

VERBS = {
    "lease": {},
    "progress": {},
    "release": {"reason": "because"},
    "report": {"verdict": "Accepted"},
    "files": {"fileId": str(uuid4()), "name": "log"},
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_machine_hears_of_every_job_it_does_not_hold_the_same(both, verb):
    ours, theirs = both
    factories.submission()
    box, other = factories.box(), factories.box()
    held = factories.claimed(other).row.id
    waiting = factories.submission().job

    def call(job):
        body = {"leaseToken": str(uuid4()), **VERBS[verb]}
        return Client().post(f"/api/v1/runner/jobs/{job}/{verb}", body, content_type="application/json", headers=box.bearer)

    told = {houses.said(call(job), job) for job in (ours.job.id, theirs.job.id, held, waiting)}
    nothing = {houses.said(call(job), job) for job in (uuid4(), uuid4())}

    assert {status for status, *_ in told} == {403}
    assert len(told) == len(nothing) == 1


def test_files_of_theirs_and_none_are_one_answer_to_a_machine(both):
    ours, theirs = both
    factories.submission()
    box = factories.box()
    job = factories.claimed(box).row
    mine = {"leaseToken": str(job.token), "name": "log"}

    def read(file, **headers):
        return houses.said(Client().get(f"/api/v1/runner/files/{file}", headers={**box.bearer, **headers}), file)

    def attach(place, file, **body):
        answer = Client().post(f"/api/v1/runner/{place}", {"fileId": file, **body}, content_type="application/json", headers=box.bearer)
        return houses.said(answer, file)

    for file in (theirs.source.id, theirs.version.package_id, ours.source.id):
        for headers in ({}, {"Range": "bytes=0-1"}, {"If-None-Match": f'"{theirs.source.sha256}"'}):
            assert read(file, **headers) == read(uuid4(), **headers)
            assert read(file, **headers)[0] == 404
        for place, body in ((f"jobs/{job.id}/files", mine), ("files/attach", {"name": "log"})):
            assert attach(place, file, **body) == attach(place, uuid4(), **body)
            assert attach(place, file, **body)[0] == 422


@pytest.mark.parametrize("kind", ["manifests", "blobs"])
def test_a_package_of_theirs_and_none_are_one_answer_to_who_pulls_another(both, kind):
    _, theirs = both
    into = factories.work(package=factories.package(b"PK ours"))
    factories.submission(into)
    box = factories.box()
    job = queue.claim_on_channel(box.id)
    assert isinstance(job, queue.ClaimedJob)
    bearer = {"Authorization": f"Bearer {tokens.mint(job.row, problem=into.problem.id)}"}
    digest, nothing = f"sha256:{theirs.version.package.sha256}", f"sha256:{hashlib.sha256(b'none').hexdigest()}"

    def pull(problem, digest):
        return houses.said(Client().get(f"/v2/{problem}/{kind}/{digest}", headers=bearer), problem, digest)

    assert pull(theirs.problem.id, digest) == pull(uuid4(), digest) == pull(uuid4(), nothing)
    assert pull(into.problem.id, digest) == pull(into.problem.id, nothing)
    assert json.loads(Client().get("/v2/", headers=bearer).content) == {}
