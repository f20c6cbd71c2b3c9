"""The demo's contest is what existing clients expect: contests/demo/seed.py and packages.py."""

import hashlib
import io
import json
import zipfile

import pytest
from django.contrib.auth.models import User
from django.test import Client

from contests.demo import packages, seed
from contests.demo.solutions import PATIENT, SOLUTIONS, in_languages
from contests.models import Activity, Assignment, Participant, Round
from judging import files
from judging.models import Job, Problem, ProblemVersion, StoredFile, Submission
from tests.contests.conftest import account, logged_in, program

API = "/api/v1"


def login(name, password):
    client = Client()
    answer = client.post(
        f"{API}/identity/login?useSessionCookies=true", {"email": name, "password": password}, content_type="application/json"
    )
    assert answer.status_code == 200
    return client


def test_the_contest_is_open_and_nothing_has_been_sent_in(seeded):
    assert (seeded.slug, seeded.enrolment_open, seeded.demo, seeded.opens_at, seeded.closes_at) == ("DEV-2026", True, True, None, None)
    assert Round.objects.count() == 2
    assert list(Assignment.objects.order_by("slug").values_list("slug", flat=True)) == ["A", "B", "C"]
    assert Submission.objects.count() == 0


def test_the_published_passwords_open_it(seeded):
    operator = login("admin", "admin-development-only")

    assert operator.get(f"{API}/runners").status_code == 200
    for name in ("student", "student2"):
        student = login(name, "student-development-only")
        assert student.post(f"{API}/activities/DEV-2026/enrolment").status_code == 200
        assert student.get(f"{API}/runners").status_code == 403
        assert student.post(f"{API}/activities/DEV-2026/problems/A/submissions", **program()).status_code == 201


def test_seeding_again_changes_nothing(seeded):
    before = [model.objects.count() for model in (Activity, Round, Assignment, Problem, ProblemVersion, StoredFile, User, Participant)]

    seed.seed()

    assert [
        model.objects.count() for model in (Activity, Round, Assignment, Problem, ProblemVersion, StoredFile, User, Participant)
    ] == before


def test_a_changed_package_is_a_new_version(seeded, monkeypatch):
    monkeypatch.setattr(seed, "package", lambda letter: b"another " + letter.encode())

    seed.seed()

    assert list(ProblemVersion.objects.filter(problem__slug="sum").order_by("number").values_list("number", flat=True)) == [1, 2]


def test_a_forgotten_password_is_the_published_one_again(seeded):
    user = User.objects.get(username="admin")
    user.set_password("something else")
    user.is_active = False
    user.save()

    seed.seed()

    login("admin", "admin-development-only")


def test_no_production_settings_are_seeded(transactional_db, settings):
    settings.TESTING = settings.DEMO = settings.DEBUG = False

    with pytest.raises(seed.NotHere):
        seed.seed()

    assert User.objects.count() == 0


def test_a_database_that_others_use_is_not_seeded(transactional_db, settings):
    settings.EMBEDDED = False
    account("the-real-admin", is_superuser=True)

    with pytest.raises(seed.NotHere, match="accounts that are not the demo's"):
        seed.seed()

    assert User.objects.count() == 1


def test_an_activity_of_that_name_that_is_no_demo_is_left_alone(transactional_db):
    Activity.objects.create(slug="DEV-2026", title="A real contest")

    with pytest.raises(seed.NotHere):
        seed.seed()


def test_what_an_earlier_demo_left_waiting_is_cancelled_and_nothing_else(seeded):
    student, other = (logged_in(User.objects.get(username=name)) for name in ("student", "student2"))
    sending = f"{API}/activities/DEV-2026/problems/A/submissions"
    left = student.post(sending, **program(name=PATIENT.file)).json()
    student.post(sending, **program(name="mine.py"))
    other.post(sending, **program(name=PATIENT.file))

    assert seed.clear_left_over() == 1
    assert [str(job.submission_id) for job in Job.objects.filter(state="cancelled")] == [left["id"]]


# Packages.


@pytest.mark.parametrize("letter", "ABC")
def test_a_package_is_the_same_to_the_byte_each_time(letter):
    assert packages.package(letter) == packages.package(letter)


@pytest.mark.parametrize("letter", "ABC")
def test_a_package_holds_its_configuration_and_its_tests(letter):
    with zipfile.ZipFile(io.BytesIO(packages.package(letter))) as archive:
        names = archive.namelist()

    assert "config.yml" in names
    assert sum(name.endswith(".in") for name in names) >= 5
    assert not [name for name in names if name.startswith(("/", ".")) or "__pycache__" in name]


def test_a_runner_is_handed_the_package_as_it_was_made(seeded):
    package = ProblemVersion.objects.select_related("package").get(problem__slug="guess").package
    assert package is not None

    assert package.sha256 == hashlib.sha256(packages.package("C")).hexdigest()
    with files.open_file(package) as content:
        assert content.read() == packages.package("C")


def test_the_second_round_takes_compiled_languages_only(seeded):
    config = json.loads(Assignment.objects.select_related("lane").get(slug="C").lane.config)

    assert config["languages"] == ["cpp", "java"]


# Programs.

VERDICTS = {
    "Accepted",
    "Wrong answer",
    "Time limit exceeded",
    "Memory limit exceeded",
    "Output limit exceeded",
    "Runtime error",
    "Compilation error",
    "Partial",
    "PolicyViolation",
}


def test_every_verdict_is_earned_even_where_there_is_only_python():
    assert {solution.verdict for solution in in_languages(["python3"])} == VERDICTS
    assert len(in_languages(["python3"])) >= 10


def test_every_program_is_there_and_named_once():
    assert all(solution.source for solution in SOLUTIONS)
    assert len({(solution.problem, solution.file) for solution in SOLUTIONS}) == len(SOLUTIONS)
    assert {solution.language for solution in SOLUTIONS} == {"python3", "cpp17", "java"}
