"""Role by page by act, in one table: who sees, makes and edits what, and who may do which act. A: administrator,
C: contest operator, J: judge, O: observer. Every act asks by GET, and by POST refuses who says no reason for it.
"""

from typing import Any

import pytest
from django.contrib import admin as django_admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse
from django_otp.plugins.otp_totp.models import TOTPDevice

from contests import routing
from contests.models import Activity, Operator, Organization, Participant, Round
from judging import rejudging
from judging.models import Installation, Job, LedgerRecord, Rejudging
from judging.rejudging import Wanted
from runners.models import Pool, Runner
from tests import factories
from tests.admin.reading import words

pytestmark = pytest.mark.django_db
ROLES = {"A": "administrator", "C": "contest operator", "J": "judge", "O": "observer"}

# Page: who sees it, who makes one, who edits one (where the page has a form at all).
PAGES = {
    "judging.Job": ("ACJO", "", ""),
    "judging.Submission": ("ACJO", "", ""),
    "judging.Rejudging": ("ACJO", "", ""),
    "judging.Verification": ("ACJO", "", ""),
    "judging.Lane": ("ACJO", "", ""),
    "judging.Delivery": ("ACJO", "", ""),
    "judging.LedgerRecord": ("ACJO", "", ""),
    "judging.Problem": ("ACJO", "AC", "AC"),
    "judging.ProblemVersion": ("ACJO", "", ""),
    "judging.Installation": ("ACJO", "", ""),
    "runners.Runner": ("ACJO", "", ""),
    "runners.Pool": ("ACJO", "AC", "AC"),
    "contests.Activity": ("ACJO", "AC", "AC"),
    "contests.Round": ("ACJO", "AC", "AC"),
    "contests.Assignment": ("ACJO", "AC", "AC"),
    "contests.Participant": ("ACJO", "AC", "AC"),
    "contests.Organization": ("ACJO", "A", "A"),
    "contests.Publication": ("ACJO", "", ""),
    "contests.Operator": ("A", "A", "A"),
    "auth.User": ("A", "A", "A"),
    "auth.Group": ("A", "A", "A"),
    "otp_totp.TOTPDevice": ("A", "", ""),
    "axes.AccessAttempt": ("A", "", ""),
}
ACTS = {
    "judging.Job": {"rejudge": "ACJ", "give_back": "AC", "prioritise": "AC", "cancel": "AC", "void": "AC"},
    "judging.Submission": {"rejudge": "ACJ", "leave_out": "AC", "count_again": "AC", "withdraw": "A"},
    "judging.Rejudging": {"apply": "ACJ", "cancel": "ACJ"},
    "judging.Lane": {"pause": "AC", "resume": "AC"},
    "judging.Problem": {"publish": "AC"},
    "judging.ProblemVersion": {"verify": "ACJ"},
    "judging.Verification": {"cancel": "ACJ"},
    "judging.Installation": {"drain": "A", "close": "A", "reopen": "A", "external_on": "A", "external_off": "A", "sweep_now": "A"},
    "runners.Runner": {
        "approve": "AC",
        "retag": "AC",
        "revoke": "AC",
        "channel_key": "A",
        "forget": "A",
        "add_for_channel": "A",
    },
    "runners.Pool": {"rename": "AC"},
    "contests.Activity": {"retag": "AC", "reserve": "AC", "give_back": "AC", "take_in": "AC", "publish": "AC"},
    "contests.Round": {"retag": "AC"},
    "otp_totp.TOTPDevice": {"remove": "A"},
    "axes.AccessAttempt": {"unlock": "A"},
}
ON_MANY = {
    "judging.Job": {"rejudge_many": "ACJ", "prioritise_many": "AC", "cancel_many": "AC"},
    "judging.Submission": {"rejudge_many": "ACJ", "download_many": "ACJ"},
    "runners.Runner": {"approve_many": "AC", "retag_many": "AC"},
}
ON_ALL = {"judging_job_prioritise_listed": "AC", "judging_submission_rejudge_listed": "ACJ", "judging_submission_sources": "ACJ"}
READS_SOURCES = "ACJ"
SITE: dict[str, Any] = {page.model._meta.label: page for page in django_admin.site._registry.values()}


@pytest.fixture
def scene(judged):
    """One of everything that a page may show; the submission that was judged, and its source."""
    organization = Organization.objects.create(slug="school", name="School")
    activity = Activity.objects.create(organization=organization, slug="cup", title="Cup")
    assignment = routing.assign(Round.objects.create(activity=activity, title="Heat"), factories.work().problem, slug="A")
    source = factories.stored_file(b"x = 1")
    sent = factories.submission(factories.work(slug="sent"), source=source)
    Participant.objects.create(activity=assignment.round.activity, user=User.objects.create_user("pupil"), name="Pupil")
    factories.pending_box()
    Pool.objects.get_or_create(name="hall-a")
    TOTPDevice.objects.create(user=User.objects.create_user("phone", is_staff=True), name="phone")
    Operator.objects.create(user=User.objects.create_user("limited", is_staff=True), organization=organization)
    rejudging.begin([judged[1].row.submission], by="user:1", wanted=Wanted(reason="again"))
    Installation.read()
    return sent.submission, source.id


@pytest.fixture(params=ROLES)
def role(request):
    """A letter of the table."""
    return request.param


@pytest.fixture
def client(role):
    """A browser of somebody in this role."""
    user = User.objects.create_user("somebody", password="secret", is_staff=True)
    user.groups.add(Group.objects.get(name=ROLES[role]))
    browser = Client()
    browser.force_login(user)
    return browser


def route(label, page, *args):
    return reverse(f"admin:{label.lower().replace('.', '_')}_{page}", args=args)


def row_of(label):
    return SITE[label].model._default_manager.first()


def act_address(label, act):
    """Where an act is: of a row, or of none where the page offers it on its list."""
    of_none = act in SITE[label]._extract_action_names(SITE[label].actions_list)
    row = row_of(label)
    return None if row is None and not of_none else route(label, act, *([] if of_none else [row.pk]))


def state_of_things():
    """What no mere look and no unreasoned act may change."""
    return (
        sorted(Job.objects.values_list("id", "state", "priority", "voided_at")),
        sorted(Runner.objects.values_list("id", "state", "tags")),
        list(Rejudging.objects.values_list("state", flat=True)),
        list(Installation.objects.values_list("level", "external_judging")),
        LedgerRecord.objects.count(),
        LogEntry.objects.count(),
    )


def test_the_table_names_every_page_and_every_act():
    acts = {label: set(page._extract_action_names([*page.actions_list, *page.actions_detail])) for label, page in SITE.items()}

    assert set(PAGES) == set(SITE)
    assert {label: set(row) for label, row in ACTS.items()} == {label: names for label, names in acts.items() if names}
    assert {label: set(row) for label, row in ON_MANY.items()} == {label: set(page.actions) for label, page in SITE.items() if page.actions}


def test_pages_open_to_those_who_are_in_the_table(scene, client, role):
    wrong = {}
    for label, (see, add, _) in PAGES.items():
        row = row_of(label)
        asked = {"list": (see, route(label, "changelist")), "add": (add, route(label, "add"))}
        asked |= {"one": (see, route(label, "change", row.pk)), "history": (see, route(label, "history", row.pk))} if row else {}
        for name, (who, address) in asked.items():
            status = client.get(address).status_code
            if (status == 200) is not (role in who) or status not in {200, 403}:
                wrong[label, name] = status

    assert wrong == {}


def test_nobody_else_writes_through_a_form(scene, client, role):
    wrong = {}
    for label, (_, add, edit) in PAGES.items():
        row = row_of(label)
        asked = [(add, route(label, "add")), *([(edit, route(label, "change", row.pk))] if row else [])]
        for who, address in asked:
            status = client.post(address, {}).status_code
            if (status == 403) is not (role not in who):
                wrong[address] = status

    assert wrong == {}


def test_acts_ask_those_who_are_in_the_table_and_do_nothing_without_a_reason(scene, client, role):
    before, wrong = state_of_things(), {}
    for label, acts in ACTS.items():
        for act, who in acts.items():
            address = act_address(label, act)
            if address is None:
                continue
            found = client.get(address).status_code, client.post(address, {}).status_code
            if found != ((200, 200) if role in who else (403, 403)):
                wrong[label, act] = found

    assert wrong == {}
    assert state_of_things() == before


def test_acts_on_many_ask_those_who_are_in_the_table_and_do_nothing_without_a_reason(scene, client, role):
    before, wrong = state_of_things(), {}
    for label, acts in ON_MANY.items():
        for act, who in acts.items():
            if act == "download_many":
                continue
            ticked = {"action": act, "_selected_action": [row_of(label).pk]}
            for said in (ticked, ticked | {"confirmed": "1"}):
                answer = client.post(route(label, "changelist"), said)
                if ("1 chosen" in words(answer)) is not (role in who):
                    wrong[label, act] = answer.status_code

    assert wrong == {}
    assert state_of_things() == before


def test_acts_on_everything_listed_are_for_those_who_are_in_the_table(scene, client, role):
    found = {name: client.get(reverse(f"admin:{name}")).status_code for name in ON_ALL}
    posted = {name: client.post(reverse(f"admin:{name}"), {}).status_code for name in ON_ALL if name != "judging_submission_sources"}

    assert found == {name: 200 if role in who else 403 for name, who in ON_ALL.items()}
    assert posted == {name: 200 if role in ON_ALL[name] else 403 for name in posted}


def test_sources_are_read_by_those_who_read_sources(scene, client, role):
    address = reverse("admin:judging_submission_file", args=list(scene))

    ticked = client.post(route("judging.Submission", "changelist"), {"action": "download_many", "_selected_action": [scene[0]]})
    archive = ticked.get("Content-Type") == "application/zip"
    answer = client.get(address)
    answer.close()

    assert archive is (role in READS_SOURCES)
    assert (answer.status_code == 200) is (role in READS_SOURCES)


def test_every_role_sees_the_dashboard(client):
    assert [client.get(address).status_code for address in ("/admin/", "/admin/live/", "/admin/live/tempo/")] == [200, 200, 200]


def test_buttons_are_shown_to_those_alone_who_may_press_them(scene, client, role):
    wrong = {}
    for label, acts in ACTS.items():
        row = row_of(label)
        if row is None or role not in PAGES[label][0]:
            continue
        page = client.get(route(label, "change", row.pk)).content.decode()
        for act, who in acts.items():
            if act_address(label, act) in page and role not in who:
                wrong[label, act] = role

    assert wrong == {}
