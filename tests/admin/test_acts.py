"""The rules every page obeys: nothing changes by GET, every act has its dialog, its permission and its reason."""

import re
import uuid

import pytest
from django.contrib import admin as django_admin
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from judging.models import Job
from tests import factories

pytestmark = pytest.mark.django_db

WRITES = re.compile(r"^\s*(INSERT|UPDATE|DELETE|TRUNCATE|LOCK|SELECT .* FROM judge_write)", re.IGNORECASE)
NOT_OURS = ("django_session", "axes_")


def pages():
    return list(django_admin.site._registry.items())


def act_names(page):
    return [
        name
        for kind in ("actions_list", "actions_detail", "actions_row", "actions_submit_line")
        for name in page._extract_action_names(getattr(page, kind))
    ]


ACTS = {name for _, page in pages() for name in act_names(page)}


def writes_of(client, method, address, data=None):
    """The statements by which a request changed something."""
    with CaptureQueriesContext(connection) as asked:
        answer = getattr(client, method)(address, data or {})
        b"".join(answer.streaming_content) if answer.streaming else answer.content
    sql = [query["sql"] for query in asked.captured_queries]
    return answer, [each for each in sql if WRITES.match(each) and not any(table in each for table in NOT_OURS)]


@pytest.fixture
def scene(judged):
    """A row of almost every kind: (runner, job, submission, file)."""
    box, claimed = judged
    factories.pending_box()
    source = factories.stored_file(b"other")
    receipt = factories.submission(source=source)
    return {"runner": box.id, "submission": receipt.submission, "file": source.id, "job": claimed.row.id}


def addresses(scene):
    """Every address of every page, its parameters filled in as well as they can be."""
    for model, page in pages():
        row = model._default_manager.first()
        for pattern in page.get_urls():
            known = {"object_id": row.pk if row else uuid.uuid4(), "id": getattr(row, "pk", 1), **scene}
            wanted = {name: known[name] for name in pattern.pattern.converters if name in known}
            if pattern.name and len(wanted) == len(pattern.pattern.converters):
                yield reverse(f"admin:{pattern.name}", kwargs=wanted)
    for name in ("index", "jsi18n", "password_change", "search"):
        yield reverse(f"admin:{name}")
    yield from (reverse("live"), reverse("live_tempo"), reverse("admin:app_list", args=["judging"]))


def test_no_address_changes_anything_or_fails_unless_it_is_posted_to(client, scene):
    changed, failed = {}, []
    for address in addresses(scene):
        answer, found = writes_of(client, "get", address)
        changed |= {address: found} if found else {}
        failed += [address] if answer.status_code >= 500 else []

    assert (changed, failed) == ({}, [])


@pytest.mark.parametrize("method", ["head", "options", "put", "patch", "delete"])
def test_no_act_is_done_by_another_method(client, scene, method):
    said = {"reason": "because", "mode": "ordinary", "compared": "on", "priority": "0"}
    acts = [address for address in addresses(scene) if address.rstrip("/").split("/")[-1].replace("-", "_") in ACTS]

    assert len(acts) > 15
    assert {address: found for address in acts if (found := writes_of(client, method, address, said)[1])} == {}


def test_every_act_has_a_dialog_and_a_permission_that_exists(admin):
    permissions = {f"{app}.{name}" for app, name in Permission.objects.values_list("content_type__app_label", "codename")}

    acts = [(page, name, getattr(page, name)) for _, page in pages() for name in act_names(page)]

    assert len(acts) > 15
    assert [(page, name) for page, name, act in acts if not getattr(act, "dialog", None)] == []
    assert [(page, name) for page, name, act in acts if getattr(act, "permission", None) not in permissions] == []


def test_every_act_on_many_rows_has_a_dialog_and_a_permission(admin):
    request = RequestFactory().get("/")
    request.user = admin

    acts = [(page, name, found[0]) for _, page in pages() for name, found in page.get_actions(request).items()]

    assert {name for _, name, _ in acts} == {
        "approve_many",
        "retag_many",
        "cancel_many",
        "prioritise_many",
        "rejudge_many",
        "download_many",
    }
    assert all(act.permission and (act.dialog or act.reads) for _, _, act in acts)


def test_no_act_is_offered_without_its_dialog_on_any_page(client, scene):
    """Unfold's buttons run on GET unless they open a dialog: the page must say hx-get for each."""
    page = client.get(reverse("admin:judging_job_change", args=[scene["job"]])).content.decode()

    links = re.findall(r"<a\b[^>]*?/(?:cancel|void|rejudge|give-back|prioritise)/[^>]*>", page)

    assert links
    assert all("hx-get=" in link for link in links)


def test_an_act_without_its_permission_is_refused_and_changes_nothing(staff, scene):
    views = [f"{model._meta.app_label}.view_{model._meta.model_name}" for model, _ in pages()]
    client = staff(*views)

    for model, page in pages():
        row = model._default_manager.first()
        for name in page._extract_action_names(page.actions_detail) if row else []:
            address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{name}", args=[row.pk])
            answer, changed = writes_of(client, "post", address, {"reason": "because", "compared": "on"})
            assert (answer.status_code, changed) == (403, []), address


def test_an_act_on_many_without_its_permission_is_refused(staff, scene):
    client = staff("judging.view_job")
    job = Job.objects.filter(state="queued").get()

    _, changed = writes_of(
        client, "post", "/admin/judging/job/", {"action": "cancel_many", "_selected_action": [job.id], "confirmed": "1", "reason": "x"}
    )

    job.refresh_from_db()
    assert (job.state, changed) == ("queued", [])


def test_an_act_without_a_reason_asks_again_and_does_nothing(client, scene):
    job = Job.objects.filter(state="queued").get()

    answer, changed = writes_of(client, "post", f"/admin/judging/job/{job.id}/cancel/")

    assert "This field is required" in answer.content.decode()
    assert changed == []


def test_an_act_on_nothing_is_not_found(client):
    for id_ in (uuid.uuid4(), "nonsense", "%00"):
        assert client.get(f"/admin/judging/job/{id_}/cancel/").status_code == 404


def test_a_forged_form_is_refused(admin):
    from django.test import Client

    job = factories.submission().job
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin)

    answer = client.post(f"/admin/judging/job/{job}/cancel/", {"reason": "because"})

    assert answer.status_code == 403
    assert Job.objects.get(id=job).state == "queued"


def test_a_dialog_is_told_by_a_header_where_to_go(client):
    job = factories.submission().job
    address = reverse("admin:judging_job_change", args=[job])

    answer = client.post(f"/admin/judging/job/{job}/cancel/", {"reason": "because"}, headers={"HX-Request": "true"})

    assert answer.headers["HX-Redirect"] == address


def test_without_scripts_an_act_answers_with_the_page(client):
    job = factories.submission().job

    answer = client.post(f"/admin/judging/job/{job}/cancel/", {"reason": "because"})

    assert answer.headers["Location"] == reverse("admin:judging_job_change", args=[job])


def test_every_page_forbids_what_comes_from_elsewhere(client, scene):
    for address in ("/admin/login/", "/admin/", "/admin/judging/job/", "/admin/live/"):
        policy = client.get(address).headers["Content-Security-Policy"]
        assert "default-src 'self'" in policy
        assert "script-src 'self' 'unsafe-eval';" in policy
        assert "frame-ancestors 'none'" in policy


def test_programs_are_not_given_the_admin_s_policy(client):
    assert "Content-Security-Policy" not in client.get("/api/v1/health").headers


def test_a_post_that_acts_is_seen_as_a_change(client):
    """The measure of the tests above."""
    job = factories.submission().job

    assert writes_of(client, "post", f"/admin/judging/job/{job}/cancel/", {"reason": "because"})[1] != []
