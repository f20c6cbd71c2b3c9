"""Every page of the admin site with an id in it answers of another organization's as of what was made up."""

import itertools
import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from axes.models import AccessAttempt
from django.contrib import admin as django_admin
from django.contrib.contenttypes.models import ContentType
from django.urls import URLPattern, URLResolver
from django_otp.plugins.otp_totp.models import TOTPDevice

from contests.models import Operator
from judging.models import Installation
from runners.models import Pool
from tests import factories
from tests.houses import OWNED, ROLES, said

pytestmark = pytest.mark.django_db
BODY = {"reason": "because", "mode": "ordinary", "password": "secret", "priority": "0", "post": "yes", "repeats": "1"}
"""What one or another act asks for."""
IDS = re.compile(r"<(?:\w+:)?(\w+)>")


def pages(resolver: URLResolver | URLPattern, before: str = "") -> Iterator[str]:
    for entry in getattr(resolver, "url_patterns", ()):
        whole = before + str(entry.pattern)
        yield from pages(entry, whole) if isinstance(entry, URLResolver) else [whole]


def addresses() -> list[tuple[str, str]]:
    """Each address with ids of one kind of thing, and which kind."""
    found = []
    for model, page in django_admin.site._registry.items():
        label, place = model._meta.label, f"{model._meta.app_label}/{model._meta.model_name}/"
        found += [(label, place + str(entry.pattern)) for entry in page.get_urls() if "<" in str(entry.pattern)]
    return found


def existing(label: str, theirs: Any) -> Any:
    """One of theirs, or of what belongs to all."""
    if label in OWNED:
        return getattr(theirs, OWNED[label])
    model = next(model for model in django_admin.site._registry if model._meta.label == label)
    return model._default_manager.order_by("-pk").first()


@pytest.fixture
def world(houses):
    """Two organizations, and one of everything that belongs to none."""
    ours, theirs = houses
    factories.box()
    Pool.objects.get_or_create(name="hall")
    Installation.objects.get_or_create(id=1)
    AccessAttempt.objects.create(username="x", ip_address="127.0.0.1", failures_since_start=1)
    TOTPDevice.objects.create(user=theirs.participant.user, name="phone")
    Operator.objects.create(user=theirs.participant.user, organization=theirs.organization)
    return ours, theirs


def made_up(row: Any) -> object:
    """An id as this one's that is nobody's."""
    return uuid4() if isinstance(row.pk, UUID) else row.pk + 1_000_000


def post(client: Any, place: str, body: dict[str, Any]) -> Any:
    answer = client.post(f"/admin/{place}", body)
    client.cookies.pop("messages", None)  # what the next page would say of this one
    return answer


def asked(client: Any, method: str, place: str, ids: dict[str, object]) -> Any:
    address = IDS.sub(lambda named: str(ids[named[1]]), place)
    return client.get(f"/admin/{address}") if method == "GET" else post(client, address, BODY)


def test_there_are_addresses_and_each_is_of_the_site():
    listed = {place for _, place in addresses()}

    assert len(listed) > 80
    known = {page for page in pages(URLResolver(_Nothing(), django_admin.site.get_urls())) if "<" in page and "(?P" not in page}  # type: ignore[arg-type]
    assert known - listed == {"r/<path:content_type_id>/<path:object_id>/"}


class _Nothing:
    """The pattern of no address."""

    converters: dict[str, object] = {}

    def __str__(self) -> str:
        return ""


@pytest.mark.parametrize(
    ("label", "role"),
    [(label, role) for label in sorted({label for label, _ in addresses()}) for role in (ROLES if label in OWNED else ROLES[:1])],
)
def test_theirs_and_a_made_up_one_are_one_answer(world, label, role):
    ours, theirs = world
    client = ours.account(role)
    row = existing(label, theirs)
    file = theirs.source.id

    for method, (_, place) in itertools.product(("GET", "POST"), (one for one in addresses() if one[0] == label)):
        names = IDS.findall(place)
        there = {name: file if name == "file" else row.pk for name in names}
        nothing = {name: uuid4() if name == "file" else made_up(row) for name in names}
        of_theirs, of_nothing = (asked(client, method, place, ids) for ids in (there, nothing))

        assert said(of_theirs, *there.values(), row) == said(of_nothing, *nothing.values()), (method, place)
        assert of_theirs.status_code in {302, 403, 404, 405}, (method, place)


@pytest.mark.parametrize("role", ROLES)
def test_where_a_thing_is_shown_on_the_site_is_not_told(world, role):
    ours, theirs = world
    client = ours.account(role)

    for name in OWNED.values():
        row = getattr(theirs, name)
        kind = ContentType.objects.get_for_model(type(row)).pk
        nothing = made_up(row)
        answers = [client.get(f"/admin/r/{kind}/{id_}/") for id_ in (row.pk, nothing)]
        assert said(answers[0], row.pk) == said(answers[1], nothing)


FORMS = {
    "contests/assignment/add/": {"round": "round", "problem": "problem", "version": "version"},
    "contests/round/add/": {"activity": "activity"},
    "contests/participant/add/": {"activity": "activity"},
    "contests/activity/add/": {"organization": "organization"},
    "judging/problemversion/add/": {"problem": "problem"},
}


@pytest.mark.parametrize("place", FORMS)
def test_a_form_takes_theirs_as_it_takes_what_is_made_up(world, place):
    ours, theirs = world
    client = ours.account("contest operator")
    base = {"slug": "B", "title": "B", "name": "B", "position": "2", "number": "2", "rounds-TOTAL_FORMS": "0", "rounds-INITIAL_FORMS": "0"}

    for field, name in FORMS[place].items():
        there, nothing = getattr(theirs, name).pk, made_up(getattr(theirs, name))
        answers = [post(client, place, base | {field: str(id_)}) for id_ in (there, nothing)]
        assert said(answers[0], there) == said(answers[1], nothing), field


@pytest.mark.parametrize("role", ["administrator", "contest operator"])
@pytest.mark.parametrize("label", OWNED)
def test_acts_on_many_take_theirs_as_what_is_made_up(world, role, label):
    ours, theirs = world
    client = ours.account(role)
    app, model = label.lower().split(".")
    page: Any = next(page for kind, page in django_admin.site._registry.items() if kind._meta.label == label)
    row = getattr(theirs, OWNED[label])
    new = made_up(row)

    for act in ["delete_selected", *[act if isinstance(act, str) else act.__name__ for act in page.actions or ()]]:
        ticked = {"action": act, **BODY}
        answers = [post(client, f"{app}/{model}/", ticked | {"_selected_action": [str(id_)]}) for id_ in (row.pk, new)]
        assert said(answers[0], row.pk) == said(answers[1], new), act
