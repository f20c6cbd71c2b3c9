"""Participants from a table: every line seen before anything is kept, then all or none."""

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile

from contests import roster
from contests.models import Activity, Participant
from tests.admin.reading import told, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def activity():
    return Activity.objects.create(slug="finals", title="Finals")


def send(client, activity, table="", **said):
    return client.post(f"/admin/contests/activity/{activity.id}/take-in/", {"reason": "registration closed", "table": table} | said)


def test_lines_are_seen_before_anything_is_kept(client, activity):
    seen = words(send(client, activity, "ada, Ada Lovelace, analytical-engine"))

    assert "Ada Lovelace new account" in seen
    assert "Look at the lines above" in seen
    assert not Participant.objects.exists()


def test_what_was_seen_is_taken_in(client, activity):
    send(client, activity, "login,name,password\nada, Ada Lovelace, analytical-engine\ngrace, Grace Hopper", sure="on")

    assert set(Participant.objects.values_list("user__username", "name")) == {("ada", "Ada Lovelace"), ("grace", "Grace Hopper")}
    assert User.objects.get(username="ada").check_password("analytical-engine")
    assert not User.objects.get(username="grace").has_usable_password()
    assert told(client) == ["2 participants joined Finals."]


def test_every_fault_of_every_line_is_told_and_none_is_kept(client, activity, admin):
    table = "ada,Ada,analytical-engine\n,Nobody\nroot,Root\nbad name!,Bad\nshort,Short,123\ntwice,One\ntwice,Two\na,b,c-long-password,d"

    seen = words(send(client, activity, table, sure="on"))

    for fault in (
        "no login name",
        "an operator's account",
        "Enter a valid username",
        "too short",
        "more than once",
        "more than three columns",
    ):
        assert fault in seen, fault
    assert "7 of 8 lines cannot be taken in" in seen
    assert not Participant.objects.exists()
    assert not User.objects.filter(username="ada").exists()


def test_a_known_account_joins_and_keeps_its_password(client, activity):
    User.objects.create_user("ada", password="her-own-password")

    seen = words(send(client, activity, "ada,Ada,another-password"))
    send(client, activity, "ada,Ada,another-password", sure="on")

    assert "known account, joins; its password stays" in seen
    assert User.objects.get(username="ada").check_password("her-own-password")
    assert Participant.objects.count() == 1


def test_taking_a_list_in_again_adds_nobody(client, activity):
    send(client, activity, "ada,Ada", sure="on")
    send(client, activity, "ada,Ada", sure="on")

    assert Participant.objects.count() == 1


def test_a_file_is_shown_and_taken_in(client, activity):
    file = SimpleUploadedFile("teams.csv", "\ufeffada;Ada Lovelace\r\n".encode())

    seen = send(client, activity, file=file)

    assert "Ada Lovelace new account" in words(seen)
    assert "ada;Ada Lovelace" in seen.content.decode()


def test_markup_in_a_name_is_text(client, activity):
    seen = send(client, activity, "ada,<script>alert(1)</script>").content.decode()

    assert "<script>alert(1)" not in seen


@pytest.mark.parametrize("table", ["a;b;c", "a\tb\tc", "a,b,c", '"a","b","c"'])
def test_a_table_is_read_by_its_own_separator(table):
    line = roster.read(table)[0]

    assert (line.login, line.name, line.password) == ("a", "b", "c")


def test_blank_lines_and_headings_are_no_participants():
    assert [line.login for line in roster.read("Username,Name\n\n , \nada,Ada\n")] == ["ada"]


def test_a_password_is_in_no_message_of_an_error():
    assert "secret" not in repr(roster.read("a,b,secret"))
