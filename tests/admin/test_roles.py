"""What each role may see and do."""

import itertools
from typing import Any

import pytest
from django.contrib import admin as django_admin
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse

from tests import factories

pytestmark = pytest.mark.django_db

_names = itertools.count(1)
SEEN_BY_ALL = ["judging_job", "judging_submission", "judging_lane", "judging_delivery", "judging_ledgerrecord", "runners_runner"]
FOR_ADMINISTRATORS = ["auth_user", "auth_group", "otp_totp_totpdevice", "axes_accessattempt"]


def hired(role):
    user = User.objects.create_user(f"{role}-{next(_names)}", password="secret", is_staff=True)
    user.groups.add(Group.objects.get(name=role))
    client = Client()
    client.force_login(user)
    return client


def lists(names):
    return [reverse(f"admin:{name}_changelist") for name in names]


@pytest.mark.parametrize("role", ["administrator", "contest operator", "judge", "observer"])
def test_every_role_sees_the_dashboard_and_judging(role):
    client = hired(role)

    assert [client.get(address).status_code for address in ["/admin/", *lists(SEEN_BY_ALL)]] == [200] * (len(SEEN_BY_ALL) + 1)


@pytest.mark.parametrize("role", ["contest operator", "judge", "observer"])
def test_accounts_and_second_factors_are_the_administrators(role):
    client = hired(role)

    assert {client.get(address).status_code for address in lists(FOR_ADMINISTRATORS)} == {403}


def test_an_administrator_sees_every_page():
    client = hired("administrator")
    every = lists(f"{model._meta.app_label}_{model._meta.model_name}" for model in django_admin.site._registry)

    assert {client.get(address).status_code for address in every} == {200}


@pytest.mark.parametrize(("role", "reads"), [("observer", False), ("judge", True), ("contest operator", True)])
def test_sources_are_shown_to_those_who_read_sources(role, reads):
    receipt = factories.submission(source=factories.stored_file(b"let secret = 42"))
    client = hired(role)

    page = client.get(reverse("admin:judging_submission_change", args=[receipt.submission]))

    assert ("let secret = 42" in page.content.decode()) is reads


@pytest.mark.parametrize(("role", "status"), [("observer", 403), ("judge", 200)])
def test_a_download_s_address_opens_to_those_who_read_sources(role, status):
    source = factories.stored_file(b"let secret = 42")
    receipt = factories.submission(source=source)
    client = hired(role)

    answer = client.get(reverse("admin:judging_submission_file", args=[receipt.submission, source.id]))
    answer.close()

    assert answer.status_code == status


@pytest.mark.parametrize(
    ("role", "may"),
    [("observer", set()), ("judge", {"rejudge"}), ("contest operator", {"rejudge", "cancel", "give-back", "prioritise", "void"})],
)
def test_acts_on_a_job_by_role(role, may):
    job = factories.submission().job
    client = hired(role)
    acts = ["rejudge", "cancel", "give-back", "prioritise", "void"]

    answers = {act: client.get(f"/admin/judging/job/{job}/{act}/").status_code for act in acts}

    assert answers == {act: 200 if act in may else 403 for act in acts}


@pytest.mark.parametrize("role", ["observer", "judge"])
def test_only_operators_approve_runners(role):
    box = factories.pending_box()
    client = hired(role)

    answer = client.post(f"/admin/runners/runner/{box.id}/approve/", {"compared": "on"})

    box.runner.refresh_from_db()
    assert answer.status_code == 403
    assert box.runner.state == "pendingApproval"


def test_maintenance_is_the_administrators():
    assert hired("contest operator").get("/admin/judging/installation/drain/").status_code == 403
    assert hired("administrator").get("/admin/judging/installation/drain/").status_code == 200


@pytest.mark.parametrize("role", ["observer", "judge", "contest operator"])
def test_nobody_edits_what_a_verb_owns(role):
    job = factories.submission().job

    assert hired(role).post(reverse("admin:judging_job_change", args=[job]), {"state": "completed"}).status_code == 403


def test_somebody_who_may_see_nothing_gets_no_numbers():
    user = User.objects.create_user("new", password="secret", is_staff=True)
    client = Client()
    client.force_login(user)

    assert client.get("/admin/live/").status_code == 403
    assert client.get("/admin/live/tempo/").status_code == 403
    assert "may be claimed" not in client.get("/admin/").content.decode()


def test_an_autocomplete_answers_only_those_who_may_see_its_page(staff):
    client = staff("judging.view_job")

    asked = {"app_label": "judging", "model_name": "delivery", "field_name": "runner", "term": ""}

    assert client.get("/admin/autocomplete/", asked).status_code == 403


def test_an_administrator_may_do_every_act():
    user = User.objects.create_user("chief", is_staff=True)
    user.groups.add(Group.objects.get(name="administrator"))
    pages: list[Any] = list(django_admin.site._registry.values())
    acts = [
        getattr(page, name).permission for page in pages for name in page._extract_action_names([*page.actions_list, *page.actions_detail])
    ]

    assert [permission for permission in acts if not user.has_perm(permission)] == []
