"""The operators' pages over a large installation, through the real views: every list, filter, search, form and chart."""

from __future__ import annotations

import time
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db import connections
from django.test import Client, RequestFactory, override_settings
from django.urls import reverse

from judging.bench.measure import Figure, Spread
from judging.bench.population import populate
from judging.bench.scratch import direct
from judging.bench.size import Size
from judging.models import Delivery, Job, Lane, Submission

MOST_SECONDS = 1.0
ROUNDS = 3
GIVE_UP_MS = 5000.0
DEEP = 100
WORDS = {"participant": ("team-77", "team-7", "nobody of this name"), "props__icontains": ("cpp20", "cobol"), "pool": ("default",)}
NO_SUCH_WORD = "said by no runner"
LISTED = ("judging_submission_rejudge_listed", "judging_job_prioritise_listed")


def pages(address: str, size: Size) -> Iterator[Figure]:
    """Milliseconds to each answer, as an administrator's browser asks."""
    count = size.depths[-1]
    with direct(address) as straight:
        populate(straight, count)
    with override_settings(ALLOWED_HOSTS=["*"], SECURE_SSL_REDIRECT=False, OPERATOR_2FA=False):
        user = get_user_model()._default_manager.create(username="bench", is_staff=True, is_superuser=True)
        client = Client(raise_request_exception=False)
        client.force_login(user)
        for name, where in addresses(user):
            yield _timed(client, f"{count:,} submissions: {name}", where, rounds=ROUNDS)
    connections.close_all()


def _timed(client: Client, name: str, where: str, *, rounds: int) -> Figure:
    spent: list[float] = []
    status = HTTPStatus.OK
    # A page that is far too slow is not asked again and again.
    while len(spent) < rounds and sum(spent) < GIVE_UP_MS and status == HTTPStatus.OK:
        began = time.perf_counter()
        status = HTTPStatus(client.get(where).status_code)
        spent.append((time.perf_counter() - began) * 1000)
    told = Spread.of(spent)
    answered = told.median / 1000 if status == HTTPStatus.OK else float("inf")
    note = "" if status == HTTPStatus.OK else f"answered {status}"
    return Figure("pages", name, "ms", told, None, answered, most=MOST_SECONDS, note=note)


def addresses(user: Any) -> Iterator[tuple[str, str]]:
    """What an operator can ask for: a name for people, and where it is."""
    yield from (("dashboard", "/admin/"), ("dashboard, live part", reverse("live")), ("dashboard, charts", reverse("live_tempo")))
    for model, page in admin.site._registry.items():
        yield from _list_of(f"{model._meta.verbose_name_plural}", page, user)
        yield from _one_of(str(model._meta.verbose_name), page)
    yield from ((f"all that is listed: {name.split('_')[-2]}", reverse(f"admin:{name}")) for name in LISTED)
    yield from _autocompletes()


def _list_of(name: str, page: Any, user: Any) -> Iterator[tuple[str, str]]:
    base = reverse(f"admin:{page.opts.app_label}_{page.opts.model_name}_changelist")
    yield f"{name}: list", base
    if page.model._default_manager.all()[DEEP * page.list_per_page :].exists():
        yield f"{name}: page {DEEP}", f"{base}?p={DEEP}"
    for title, asked in _filters(page, base, user):
        yield f"{name}: {title}", f"{base}?{urlencode(asked)}"
    if page.get_search_fields(None):
        for word in _words_to_search(page):
            yield f"{name}: search {word[:8]}", f"{base}?{urlencode({'q': word})}"


def _filters(page: Any, base: str, user: Any) -> Iterator[tuple[str, dict[str, str]]]:
    """Every value of a filter that has few, two rows of one that names rows, and words for those that take any."""
    request = RequestFactory().get(base)
    request.user = user
    for spec in page.get_changelist_instance(request).get_filters(request)[0]:
        names = [each for each in spec.expected_parameters() if each]
        for value in _values_of(spec, names):
            yield f"{spec.title} = {str(value)[:12]}", {names[0]: str(value)}
        if names and names[0].endswith("_from_0"):
            yield f"{spec.title}: an old day", {names[0]: "2020-01-01", names[1]: "00:00:00", names[2]: "2020-01-02", names[3]: "00:00:00"}


def _values_of(spec: Any, names: list[str]) -> list[Any]:
    if not names or names[0].endswith("_from_0"):
        return []
    if names[0] in WORDS:
        return list(WORDS[names[0]])
    field = getattr(spec, "field", None)
    if field is not None and field.remote_field is not None:
        keys = field.remote_field.model._default_manager.order_by("pk").values_list("pk", flat=True)
        return [*keys[:1], *keys.reverse()[:1]]
    if field is not None and field.choices:
        return [value for value, _ in field.choices]
    offered = [value for value, _ in getattr(spec, "lookup_choices", [])] or ["1", "0"]
    return [*offered, NO_SUCH_WORD] if names[0] == "verdict" else offered


def _words_to_search(page: Any) -> list[str]:
    """A whole id, the beginning of one, and what there is not."""
    newest = page.model._default_manager.order_by("-pk").values_list("pk", flat=True).first()
    return [*([str(newest), str(newest)[:13]] if newest else []), "0000dead", "team 77"]


def _one_of(name: str, page: Any) -> Iterator[tuple[str, str]]:
    """The page of the newest row, and of one from the middle where they are many."""
    row = page.model._default_manager.order_by("-pk").first()
    if row is not None:
        yield f"one {name}", reverse(f"admin:{page.opts.app_label}_{page.opts.model_name}_change", args=[row.pk])


def _autocompletes() -> Iterator[tuple[str, str]]:
    for model, field in ((Job, "lane"), (Submission, "lane"), (Delivery, "runner"), (Lane, "problem")):
        asked = {"app_label": model._meta.app_label, "model_name": model._meta.model_name, "field_name": field}
        for term in ("", "bench"):
            yield f"autocomplete {field} {term}".strip(), f"/admin/autocomplete/?{urlencode(asked | {'term': term})}"
